// The last output of a member, from its log, to explain its failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ratoon::local {

// Returns at most `bytes_max` bytes, from the start of a line; empty if the file cannot be read.
[[nodiscard]] std::string read_last_lines(const std::string& path, std::size_t bytes_max);

// The last `lines_max` lines of a text.
[[nodiscard]] std::vector<std::string> last_lines_in(std::string_view text, std::size_t lines_max);

}  // namespace ratoon::local
