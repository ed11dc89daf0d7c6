#include "base/core/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ratoon {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;

std::size_t ascii_prefix(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  while (at < bytes.size() && std::to_integer<unsigned>(bytes[at]) < 0x80) ++at;
  return at;
}

// size_of_character() for a character that is not ASCII; 0 if the bytes are no character.
std::size_t character_bytes(std::span<const std::byte> bytes) {
  const auto lead = std::to_integer<unsigned>(bytes[0]);
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || size > bytes.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((std::to_integer<unsigned>(bytes[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = std::to_integer<unsigned>(bytes[1]);
  const bool is_overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_surrogate = lead == 0xED && second > 0x9F;
  const bool is_above_unicode = lead == 0xF4 && second > 0x8F;
  return is_overlong || is_surrogate || is_above_unicode ? 0 : size;
}

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// A control character of ASCII or C1 (U+0080 to U+009F), which terminals obey as well.
bool is_control(std::span<const std::byte> character) {
  const auto first = std::to_integer<unsigned>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && std::to_integer<unsigned>(character[1]) < 0xA0;
}

}  // namespace

std::size_t size_of_character(std::span<const std::byte> bytes) {
  return std::to_integer<unsigned>(bytes[0]) < 0x80 ? 1 : character_bytes(bytes);
}

namespace {

// Replaces each byte that is not text by `instead`, and control characters too unless `with_controls`.
std::string replaced(std::string_view text, std::string_view instead, bool with_controls) {
  std::string shown;
  shown.reserve(text.size());
  auto bytes = std::as_bytes(std::span(text));
  while (!bytes.empty()) {
    const std::size_t size = size_of_character(bytes);
    if (size == 0 || (!with_controls && is_control(bytes.first(size))))
      shown += instead;
    else
      shown += text.substr(text.size() - bytes.size(), size);
    bytes = bytes.subspan(size == 0 ? 1 : size);
  }
  return shown;
}

}  // namespace

bool is_utf8(std::span<const std::byte> bytes) {
  while (true) {
    bytes = bytes.subspan(ascii_prefix(bytes));
    if (bytes.empty()) return true;
    const std::size_t size = character_bytes(bytes);
    if (size == 0) return false;
    bytes = bytes.subspan(size);
  }
}

std::size_t count_characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_inside_character));
}

std::string cut_text(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && is_inside_character(text[end])) --end;
  text.resize(end);
  return text;
}

std::string end_of_text(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && is_inside_character(text[begin])) ++begin;
  text.erase(0, begin);
  return text;
}

std::string as_utf8(std::string_view text) {
  return replaced(text, "\ufffd", /*with_controls=*/true);
}

std::string printable(std::string_view text) {
  return replaced(text, "?", /*with_controls=*/false);
}

}  // namespace ratoon
