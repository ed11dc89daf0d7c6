// The words behind `--` of `ratoon run` and `ratoon launch`: the trainer's. They are taken from the command
// line before any parser sees it, since a parser takes some of them apart ("[64,32]") or drops them ("[]").
#pragma once

#include <string>
#include <vector>

namespace ratoon::cli {

// Cuts them off: argc counts the words before `--` then. Another command's words all stay, `--` among them.
[[nodiscard]] std::vector<std::string> take_trainer_words(int& argc, const char* const* argv);

}  // namespace ratoon::cli
