// Ends a process by a Failure: a message, and an exit code that says whether the process should be started
// again.
#pragma once

#include <string>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::session {

[[noreturn]] inline void fail(ExitCode code, const std::string& sentence) {
  throw Failure(static_cast<int>(code), sentence);
}

}  // namespace ratoon::session
