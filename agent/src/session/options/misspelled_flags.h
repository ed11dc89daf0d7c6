// Finds words of a command line that are almost flags of Ratoon, such as `--save-evry`, `--run_name` or
// `-stores`. A program has its own flags on the same command line, so a word is refused only if one typing
// error separates it from a flag of Ratoon. Without this check, a misspelled flag would be ignored without a
// message.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::session {

// Pure. Returns whether `word`, up to a '=', is a misspelling of `flag`. A misspelling differs from the flag
// by one added, missing, replaced or swapped letter, or only in '_', capitals or the number of leading
// dashes. A word with an added or replaced letter is no misspelling of a short flag, because it may be a flag
// of the program: --seeds, --speed and --seek differ from --seed by one letter. But a doubled letter counts.
// Returns false if the words are equal.
[[nodiscard]] bool is_probable_misspelling(std::string_view word, std::string_view flag);

// Pure. Returns the normalized name of a flag, such as "save-every" for "--Save_Every=5": without dashes and
// value, in small letters, with '-' for '_'.
[[nodiscard]] std::string plain_flag_name(std::string_view word);

}  // namespace ratoon::session
