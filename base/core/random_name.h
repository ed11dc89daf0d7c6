// Random names that are unique between processes, and secrets that cannot be guessed.
#pragma once

#include <cstddef>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// 16 hexadecimal digits from the system's random numbers; if there are none yet, from this process's id.
[[nodiscard]] std::string draw_name();

// `bytes` (at most 256) of the system's random numbers as hexadecimal digits.
[[nodiscard]] Result<std::string> draw_secret(std::size_t bytes);

}  // namespace ratoon
