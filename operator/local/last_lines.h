// What a member printed last, from its log: for who asks why it failed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ratoon::local {

// At most `bytes_max` bytes, from the beginning of a line; empty where nothing can be read.
[[nodiscard]] std::string read_last_lines(const std::string& path, std::size_t bytes_max);

// The last so many lines of a text.
[[nodiscard]] std::vector<std::string> last_of(std::string_view text, std::size_t lines_max);

}  // namespace ratoon::local
