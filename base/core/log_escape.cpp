#include <array>
#include <cstdint>

#include "base/core/log_line.h"

namespace ratoon {

namespace {

// The bytes at the front of a text: either `size` bytes that are one character, or `size` bytes that are no
// character.
struct Character {
  std::size_t size = 0;
  bool is_valid = false;
};

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The bytes that may follow a lead byte (table 3-7 of the Unicode standard): neither overlong forms nor
// surrogates nor anything above U+10FFFF.
struct Continuation {
  std::size_t count = 0;  // 0: not a lead byte
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

Continuation continuation_of(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {.count = 1};
  if (lead == 0xE0) return {.count = 2, .second_min = 0xA0};
  if (lead == 0xED) return {.count = 2, .second_max = 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {.count = 2};
  if (lead == 0xF0) return {.count = 3, .second_min = 0x90};
  if (lead == 0xF4) return {.count = 3, .second_max = 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {.count = 3};
  return {};
}

// An ill-formed piece ends before the first byte that cannot continue it, as the standard recommends.
Character first_character(std::string_view text) {
  const unsigned char lead = byte_at(text, 0);
  if (lead < 0x80) return {.size = 1, .is_valid = true};
  const Continuation continuation = continuation_of(lead);
  if (continuation.count == 0) return {.size = 1};
  for (std::size_t i = 1; i <= continuation.count; ++i) {
    if (i == text.size()) return {.size = i};
    const unsigned char min = i == 1 ? continuation.second_min : 0x80;
    const unsigned char max = i == 1 ? continuation.second_max : 0xBF;
    if (byte_at(text, i) < min || byte_at(text, i) > max) return {.size = i};
  }
  return {.size = continuation.count + 1, .is_valid = true};
}

using Escape = std::array<char, 6>;

std::string_view unicode_escape(Escape& buffer, unsigned char code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  buffer = {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 0xF]};
  return {buffer.data(), buffer.size()};
}

// The JSON form of this character; `buffer` holds it if the form is an escape.
std::string_view escaped(std::string_view character, Escape& buffer) {
  const unsigned char first = byte_at(character, 0);
  const bool is_c1_control = character.size() == 2 && first == 0xC2 && byte_at(character, 1) < 0xA0;
  if (is_c1_control) return unicode_escape(buffer, byte_at(character, 1));
  switch (first) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return first < 0x20 || first == 0x7F ? unicode_escape(buffer, first) : character;
  }
}

}  // namespace

bool append_escaped(std::string& out, std::string_view text, std::size_t max_size) {
  Escape buffer;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view unit =
        character.is_valid ? escaped(text.substr(0, character.size), buffer) : "\xEF\xBF\xBD";
    if (out.size() + unit.size() > max_size) return false;
    out += unit;
    text.remove_prefix(character.size);
  }
  return true;
}

}  // namespace ratoon
