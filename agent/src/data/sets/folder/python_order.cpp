#include "agent/src/data/sets/folder/python_order.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace ratoon::data {
namespace {

bool is_continuation_byte(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// The first code point of a text, and the number of bytes that it takes in UTF-8. The size is 0 if the text
// does not start with a complete, valid code point.
struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;
};

CodePoint first_code_point(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  char32_t value = first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation_byte(text, i)) return {};
    value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  const bool is_longer_than_needed = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (is_longer_than_needed || is_surrogate || value > 0x10FFFF) return {};
  return {value, size};
}

std::u32string decode_as_python(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    CodePoint point = first_code_point(text);
    if (point.size == 0) point = {0xDC00u + static_cast<unsigned char>(text[0]), 1};
    points.push_back(point.value);
    text.remove_prefix(point.size);
  }
  return points;
}

}  // namespace

bool python_sorts_before(std::string_view left, std::string_view right) {
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (r == right.end()) return false;
  if (l == left.end()) return true;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (is_ascii(*l) && is_ascii(*r)) return *l < *r;
  return decode_as_python(left) < decode_as_python(right);
}

}  // namespace ratoon::data
