// Exit codes of trainers and of the ratoon command. Exit codes have the same meaning for the operator, the
// local runner and scripts.
#pragma once

#include <ratoon/result.h>

namespace ratoon {

enum class ExitCode : int {
  kDone = 0,
  kPreempted = 80,           // left on request; start it again
  kStartAgain = 81,          // this process cannot continue, a fresh one can
  kConfiguration = 82,       // the same start would fail again; no retry
  kCheckpointsBad = 83,      // checkpoints exist and none of them is good; the run never starts from zero
  kStorage = 84,             // nothing can be saved or read
  kDeviceUnusable = 85,      // the accelerator of this machine failed; another machine can continue
  kAbortOverdue = 86,        // aborted collectives did not end; a fresh process can continue
  kInterruptedByUser = 130,  // Ctrl-C
};

// Returns the exit code for an error of this kind, the same in every program. Code 84 means that a retry,
// perhaps on another machine, may succeed. Code 83 means that stored bytes differ from the bytes that were
// written. Code 82 means that a retry of the same command would fail again.
[[nodiscard]] ExitCode exit_code_of(ErrorKind kind);

}  // namespace ratoon
