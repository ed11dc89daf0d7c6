// Encodes and decodes names in URLs: every byte except letters, digits and "-._~" is written as %XX. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

[[nodiscard]] std::string percent_encode(std::string_view text, bool keeps_slashes);

// Returns nothing if a '%' is not followed by two hexadecimal digits, or if the result contains a zero byte.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace ratoon::objects
