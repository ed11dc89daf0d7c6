// Draws random names that are unique between processes, and secrets that cannot be guessed.
#pragma once

#include <cstddef>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

// Returns 16 hexadecimal digits from the system's random numbers, or from this process's id if the system has
// no random numbers yet.
[[nodiscard]] std::string random_hex_name();

// Returns `bytes` random bytes (at most 256) from the system, as hexadecimal digits.
[[nodiscard]] Result<std::string> random_hex_secret(std::size_t bytes);

}  // namespace ratoon
