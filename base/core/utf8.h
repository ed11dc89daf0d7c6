// UTF-8: checks, cuts and prints text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// Checks UTF-8 with the rules of Python: no surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

// The beginning of a text: one character, or invalid bytes. As the Unicode standard recommends, a piece of
// invalid bytes ends before the first byte that cannot continue a character.
struct TextPiece {
  std::size_t size = 0;
  bool is_character = false;
};
// `bytes` has at least one byte.
[[nodiscard]] TextPiece first_piece(std::span<const std::byte> bytes);

// `text` must be UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// Returns the beginning of the text, at most `bytes_max` bytes, cut between characters.
[[nodiscard]] std::string cut_text(std::string text, std::size_t bytes_max);

// Returns the end of the text, at most `bytes_max` bytes, cut between characters.
[[nodiscard]] std::string end_of_text(std::string text, std::size_t bytes_max);

// Replaces each byte that is not UTF-8 by U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);

// Makes the text safe for one line of a terminal: names and reasons from a disk or a store may hold any
// bytes. Characters that could move the cursor, or begin a new line, become '?'. Bytes that are not UTF-8
// become '?' too: an 8-bit terminal may treat them as control characters.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ratoon
