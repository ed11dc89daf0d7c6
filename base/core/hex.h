// Writes bytes and numbers as lower-case hexadecimal digits, and converts digits back to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(std::uint64_t value);  // 16 digits, the most significant one first
[[nodiscard]] std::string to_hex(std::uint32_t value);  // 8 digits
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);  // nothing: not such digits

}  // namespace ratoon
