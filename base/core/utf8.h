// UTF-8: checks, cuts and prints text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// Checks UTF-8 with the rules of Python: no surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

// The beginning of a text: one character, or bytes that are none. As the Unicode standard recommends, such
// bytes end before the first one that cannot continue them.
struct TextPiece {
  std::size_t size = 0;
  bool is_character = false;
};
// `bytes` has at least one byte.
[[nodiscard]] TextPiece first_piece(std::span<const std::byte> bytes);

// `text` must be UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// The beginning of the text, of at most that many bytes, cut between characters.
[[nodiscard]] std::string cut_text(std::string text, std::size_t bytes_max);

// Returns the end of the text in the same way.
[[nodiscard]] std::string end_of_text(std::string text, std::size_t bytes_max);

// Replaces each byte that is not UTF-8 by U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);

// Makes the text safe for one line of a terminal: names and reasons from a disk or a store may hold any
// bytes. Characters that could move the cursor, or begin a new line, become '?'. Each byte that is not UTF-8
// becomes '?' too: a terminal of 8 bits may obey it.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ratoon
