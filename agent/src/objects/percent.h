// Names in URLs: %XX for every byte but letters, digits and "-._~". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

[[nodiscard]] std::string percent_encode(std::string_view text, bool keeps_slashes);

// Nothing where a '%' is no escape, or stands for a zero byte.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace ratoon::objects
