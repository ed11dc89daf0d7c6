// UTF-8: what is text, where it may be cut, and how it is shown.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// As Python reads it: no surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

// Of a text that is UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// At most that many bytes, cut between characters.
[[nodiscard]] std::string cut_text(std::string text, std::size_t bytes_max);

// The same of its end: what was said last.
[[nodiscard]] std::string end_of_text(std::string text, std::size_t bytes_max);

// With U+FFFD for each byte that is no UTF-8.
[[nodiscard]] std::string as_utf8(std::string_view text);

// As one line of a terminal: names and reasons that lie on a disk or in a store are somebody's, and what
// could move the cursor, or begin a line of its own, is shown as '?'. So is each byte that is no UTF-8: a
// terminal of 8 bits may obey it.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ratoon
