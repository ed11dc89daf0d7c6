// Takes the words after `--` of `ratoon run` and `ratoon launch`: the trainer's arguments. The trainer's
// arguments are removed before the library CLI11 parses the command line, because CLI11 would split some
// arguments ("[64,32]") and drop other arguments ("[]").
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

// Removes `--` and the words after it, so that argc counts the words before `--`. Returns the words after
// `--`. Removes nothing from commands other than `run` and `launch`.
[[nodiscard]] std::vector<std::string> take_trainer_arguments(int& argc, const char* const* argv);

}  // namespace ratoon::cli
