#include "base/core/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ratoon {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;

std::size_t ascii_prefix_size(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + 8 <= bytes.size(); at += 8) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  while (at < bytes.size() && std::to_integer<unsigned>(bytes[at]) < 0x80) ++at;
  return at;
}

// The bytes that may follow a lead byte (table 3-7 of the Unicode standard). The table excludes overlong
// forms, surrogates and characters above U+10FFFF.
struct Continuation {
  std::size_t count = 0;  // 0: not a lead byte
  unsigned second_min = 0x80;
  unsigned second_max = 0xBF;
};

Continuation continuation_of(unsigned lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {.count = 1};
  if (lead == 0xE0) return {.count = 2, .second_min = 0xA0};
  if (lead == 0xED) return {.count = 2, .second_max = 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {.count = 2};
  if (lead == 0xF0) return {.count = 3, .second_min = 0x90};
  if (lead == 0xF4) return {.count = 3, .second_max = 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {.count = 3};
  return {};
}

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Returns whether this is a control character of ASCII or C1 (U+0080 to U+009F), which terminals obey.
bool is_control(std::span<const std::byte> character) {
  const auto first = std::to_integer<unsigned>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && std::to_integer<unsigned>(character[1]) < 0xA0;
}

}  // namespace

TextPiece first_text_piece(std::span<const std::byte> bytes) {
  const auto lead = std::to_integer<unsigned>(bytes[0]);
  if (lead < 0x80) return {.size = 1, .is_character = true};
  const Continuation continuation = continuation_of(lead);
  if (continuation.count == 0) return {.size = 1};
  for (std::size_t i = 1; i <= continuation.count; ++i) {
    if (i == bytes.size()) return {.size = i};
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    const unsigned min = i == 1 ? continuation.second_min : 0x80;
    const unsigned max = i == 1 ? continuation.second_max : 0xBF;
    if (byte < min || byte > max) return {.size = i};
  }
  return {.size = continuation.count + 1, .is_character = true};
}

namespace {

// Replaces each byte that is not UTF-8 by `instead`, and control characters too unless `with_controls`.
std::string replace_invalid_bytes(std::string_view text, std::string_view instead, bool with_controls) {
  std::string shown;
  shown.reserve(text.size());
  auto bytes = std::as_bytes(std::span(text));
  while (!bytes.empty()) {
    const TextPiece piece = first_text_piece(bytes);
    if (!piece.is_character || (!with_controls && is_control(bytes.first(piece.size))))
      shown += instead;
    else
      shown += text.substr(text.size() - bytes.size(), piece.size);
    bytes = bytes.subspan(piece.is_character ? piece.size : 1);
  }
  return shown;
}

}  // namespace

bool is_utf8(std::span<const std::byte> bytes) {
  while (true) {
    bytes = bytes.subspan(ascii_prefix_size(bytes));
    if (bytes.empty()) return true;
    const TextPiece piece = first_text_piece(bytes);
    if (!piece.is_character) return false;
    bytes = bytes.subspan(piece.size);
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

std::string tail_of_text(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && is_inside_character(text[begin])) ++begin;
  text.erase(0, begin);
  return text;
}

std::string to_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

std::string as_utf8(std::string_view text) {
  return replace_invalid_bytes(text, "\ufffd", /*with_controls=*/true);
}

std::string printable(std::string_view text) {
  return replace_invalid_bytes(text, "?", /*with_controls=*/false);
}

}  // namespace ratoon
