// Runs a short program and returns its output.
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
  std::map<std::string, std::string> variables;  // added to our environment
  Duration timeout{std::chrono::seconds(60)};    // after this time it is killed
};

// Returns the program's standard output, at most 1 MiB. The program's standard input is empty, and it shares
// our standard error. Returns kNotFound if there is no such program, kTimeout if it runs too long,
// kUnavailable if it fails.
[[nodiscard]] Result<std::string> run_program(const ProgramCall& call);

using RunProgram = std::function<Result<std::string>(const ProgramCall&)>;

}  // namespace ratoon::runtime
