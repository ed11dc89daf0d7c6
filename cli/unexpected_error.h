// An exception that ends a command and that no part of it handles. An unexpected exception needs its own exit
// code: scripts read the codes, and 1 means that a run failed.
#pragma once

#include <exception>
#include <string>

#include "base/contract/exit_code.h"

namespace ratoon::cli {

struct UnexpectedError {
  std::string sentence;
  ExitCode exit_code = ExitCode::kConfiguration;
};

// 84 if the system refuses memory, a file or a thread. Any other exception is a fault of this program, and
// the same command would fail again: 82.
[[nodiscard]] UnexpectedError explain_unexpected_error(const std::exception& error);

}  // namespace ratoon::cli
