// Runs a short program and gives what it printed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::runtime {

struct ProgramCall {
  std::vector<std::string> words;                // the program and its arguments
  std::map<std::string, std::string> variables;  // set in its environment, beside ours
  Duration patience{std::chrono::seconds(60)};   // then it is killed
};

// Its standard output, at most 1 MiB. It reads nothing, and its standard error is ours. kNotFound where there
// is no such program, kTimeout where it took too long, kUnavailable where it failed.
[[nodiscard]] Result<std::string> run_program(const ProgramCall& call);

using RunProgram = std::function<Result<std::string>(const ProgramCall&)>;

}  // namespace ratoon::runtime
