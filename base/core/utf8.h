// UTF-8: checks, cuts and prints text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// Checks UTF-8 by Python's rules: surrogates, overlong forms and characters above U+10FFFF are invalid.
[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

// The beginning of a text: one character, or invalid bytes. A sequence of invalid bytes ends before the first
// byte that cannot continue a character, as the Unicode standard recommends.
struct TextPiece {
  std::size_t size = 0;
  bool is_character = false;
};
// `bytes` has at least one byte.
[[nodiscard]] TextPiece first_text_piece(std::span<const std::byte> bytes);

// `text` must be UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// Returns the beginning of the text, at most `bytes_max` bytes, cut between characters.
[[nodiscard]] std::string cut_text(std::string text, std::size_t bytes_max);

// Returns the end of the text, at most `bytes_max` bytes, cut between characters.
[[nodiscard]] std::string tail_of_text(std::string text, std::size_t bytes_max);

// Changes only ASCII letters, in every locale.
[[nodiscard]] std::string to_lower_case(std::string_view text);

// Replaces each byte that is not UTF-8 by U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);

// Makes the text safe for one line of a terminal, because names and reasons from a disk or a store may have
// any bytes. Characters that could move the cursor, or begin a new line, become '?'. Bytes that are not UTF-8
// become '?', too, because an 8-bit terminal may treat them as control characters.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ratoon
