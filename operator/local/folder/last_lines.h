// Reads the last output of a member from its log file, to explain why the member failed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ratoon::local {

// Returns the last lines of the file, at most `bytes_max` bytes; empty if the file cannot be read.
[[nodiscard]] std::string read_last_lines(const std::string& path, std::size_t bytes_max);

// Returns the last `lines_max` lines of a text.
[[nodiscard]] std::vector<std::string> last_lines_in(std::string_view text, std::size_t lines_max);

}  // namespace ratoon::local
