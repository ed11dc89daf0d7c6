// Words of a command line that are nearly flags of ours: `--save-evry`, `--run_name`, `-stores`. A program
// has flags of its own in the same line, so a word is refused only where one slip makes it of ours: what such
// a slip would do is train with other options, without a word.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/session/option_rows.h"

namespace ratoon::session {

// Pure: whether `word`, up to a '=', is one letter more, less, other or changed in place away from `flag`,
// or differs in '_', capitals or the number of dashes at its beginning alone. Of a short flag, as --seed,
// only the latter counts: too many words are near it. The flag itself is not near.
[[nodiscard]] bool is_nearly(std::string_view word, std::string_view flag);

// kInvalid where a word before "--" is nearly one of the rows' flags. The words behind flags that take a
// value are values. argv[0] is not looked at.
[[nodiscard]] Result<void> check_near_flags(std::span<const char* const> argv,
                                            const std::vector<OptionRow>& rows);

}  // namespace ratoon::session
