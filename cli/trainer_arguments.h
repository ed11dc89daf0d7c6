// The words after `--` of `ratoon run` and `ratoon launch`: the trainer's command line. The words are removed
// from the command line before any parser sees it, because a parser splits some of them ("[64,32]") or drops
// them ("[]").
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

// Removes the words after `--`, and the `--` itself, from the line: argc then counts the words before `--`.
// The words of any other command all stay, and so does its `--`.
[[nodiscard]] std::vector<std::string> take_trainer_arguments(int& argc, const char* const* argv);

}  // namespace ratoon::cli
