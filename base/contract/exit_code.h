// Exit codes of trainers and of the ratoon command. They mean the same to the operator, the local runner and
// scripts.
#pragma once

#include <ratoon/result.h>

namespace ratoon {

enum class ExitCode : int {
  kDone = 0,
  kPreempted = 80,           // left because it was told to; start it again
  kStartAgain = 81,          // this process cannot go on, a fresh one can
  kConfiguration = 82,       // the same start would fail again; no retry
  kCheckpointsBad = 83,      // checkpoints exist and none of them is good; never starts from zero
  kStorage = 84,             // nothing can be saved or read
  kDeviceUnusable = 85,      // the accelerator of this machine failed; another machine can go on
  kAbortOverdue = 86,        // collectives that were aborted did not end; a fresh process can go on
  kInterruptedByUser = 130,  // Ctrl-C
};

// The code for an error of which no more than its kind is known, the same in every program: 84 where the
// cause may pass or another machine may not have it, 83 where bytes are not those that were written, 82 where
// the same start fails again.
[[nodiscard]] ExitCode exit_code_of(ErrorKind kind);

}  // namespace ratoon
