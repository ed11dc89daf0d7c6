// UTF-8: what is text, and where it may be cut.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ratoon {

// As Python reads it: no surrogates, no overlong forms, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::span<const std::byte> bytes);

// At most that many bytes, cut between characters.
[[nodiscard]] std::string cut_text(std::string text, std::size_t bytes_max);

}  // namespace ratoon
