// Percent encoding of names in URLs: %XX for every byte except letters, digits and "-._~". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

[[nodiscard]] std::string percent_encode(std::string_view text, bool keeps_slashes);

// Returns nothing if a '%' does not begin an escape, or if an escape stands for a zero byte.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace ratoon::objects
