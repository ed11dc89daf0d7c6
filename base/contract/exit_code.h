// Exit codes of trainers and of the ratoon command. They mean the same to the operator, the local runner and
// scripts.
#pragma once

namespace ratoon {

enum class ExitCode : int {
  kDone = 0,
  kPreempted = 80,           // left because it was told to; start it again
  kStartAgain = 81,          // this process cannot go on, a fresh one can
  kConfiguration = 82,       // the same start would fail again; no retry
  kCheckpointsBad = 83,      // checkpoints exist and none of them is good; never starts from zero
  kStorage = 84,             // nothing can be saved or read
  kInterruptedByUser = 130,  // Ctrl-C
};

}  // namespace ratoon
