// What ends a command though no part of it foresaw it: exit codes mean something to scripts, and 1 is that of
// a run that failed.
#pragma once

#include <exception>
#include <string>

#include "base/contract/exit_code.h"

namespace ratoon::cli {

struct Unforeseen {
  std::string sentence;
  ExitCode exit_code = ExitCode::kConfiguration;
};

// 84 where the machine refuses: memory, a file, a thread. Else it is a fault of this program, and the same
// command fails again: 82.
[[nodiscard]] Unforeseen explain_unforeseen(const std::exception& error);

}  // namespace ratoon::cli
