// Bytes as hexadecimal digits, lower case, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::data {

[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);  // none: they are no such digits

}  // namespace ratoon::data
