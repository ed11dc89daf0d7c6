// How many files, and so connections, this process may have open.
#pragma once

#include <cstddef>

namespace ratoon::runtime {

// Raises the limit as far as it goes without rights; returns what holds now.
std::size_t raise_open_files();

// So many of them are for members, who hold two each: one for beats, one for the orders that they wait for.
[[nodiscard]] std::size_t connections_of_members(std::size_t open_files);

}  // namespace ratoon::runtime
