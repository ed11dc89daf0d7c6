// Names that no other process draws, and secrets that none guesses.
#pragma once

#include <cstddef>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// 16 hexadecimal digits from the system; where it has no random numbers yet, of this process's number.
[[nodiscard]] std::string draw_name();

// `bytes` (at most 256) of the system's random numbers as hexadecimal digits.
[[nodiscard]] Result<std::string> draw_secret(std::size_t bytes);

}  // namespace ratoon
