// Turns an exception that no code of a command handles into a message and an exit code. Scripts read exit
// codes, and 1 means that a run failed, so an unexpected exception needs another code.
#pragma once

#include <exception>
#include <string>

#include "base/contract/exit_code.h"

namespace ratoon::cli {

struct UnexpectedError {
  std::string sentence;
  ExitCode exit_code = ExitCode::kConfiguration;
};

// The exit code is 84 if the system refuses memory, a file or a thread. The exit code is 82 for any other
// exception: such an exception shows a bug of ratoon, and the same command would fail again.
[[nodiscard]] UnexpectedError explain_unexpected_error(const std::exception& error);

}  // namespace ratoon::cli
