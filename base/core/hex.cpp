#include "base/core/hex.h"

namespace ratoon {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

template <class T>
std::string digits_of(T value) {
  std::string digits(2 * sizeof value, '0');
  for (std::size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = kHexDigits[value & 15];
  return digits;
}

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    digits += kHexDigits[std::to_integer<unsigned>(byte) >> 4];
    digits += kHexDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return digits;
}

std::string to_hex(std::string_view bytes) {
  return to_hex(std::as_bytes(std::span(bytes)));
}

std::string to_hex(std::uint64_t value) {
  return digits_of(value);
}

std::string to_hex(std::uint32_t value) {
  return digits_of(value);
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::size_t high = kHexDigits.find(digits[i]);
    const std::size_t low = kHexDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace ratoon
