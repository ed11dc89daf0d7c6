// What a member printed last, from its log: for who asks why it failed.
#pragma once

#include <cstddef>
#include <string>

namespace ratoon::local {

// At most `bytes_max` bytes, from the beginning of a line; empty where nothing can be read.
[[nodiscard]] std::string read_last_lines(const std::string& path, std::size_t bytes_max);

}  // namespace ratoon::local
