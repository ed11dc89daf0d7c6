// Finds words of a command line that are almost flags of Ratoon: `--save-evry`, `--run_name`, `-stores`. A
// program has its own flags on the same command line, so a word is refused only if one typing error separates
// it from a flag of Ratoon. Without the refusal, training would silently use other options.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/session/options/option_rows.h"

namespace ratoon::session {

// Pure: whether `word`, up to a '=', differs from `flag` by one added, missing, replaced or swapped letter,
// or only in '_', capitals or the number of leading dashes. For a short flag, such as --seed, only the
// differences in '_', capitals and dashes count: too many words differ from it by one letter. The flag itself
// does not count.
[[nodiscard]] bool is_nearly(std::string_view word, std::string_view flag);

// kInvalid if a word before "--" is almost the flag of a row. A word after a flag that takes a value is its
// value. argv[0] is skipped.
[[nodiscard]] Result<void> check_near_flags(std::span<const char* const> argv,
                                            const std::vector<OptionRow>& rows);

}  // namespace ratoon::session
