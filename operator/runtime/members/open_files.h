// The limit of open files of this process, which also limits its connections.
#pragma once

#include <cstddef>

namespace ratoon::runtime {

// Raises the limit as far as possible without privileges; returns the new limit.
std::size_t raise_open_files();

// The part of the limit for members, which have two connections each: one for beats, one for the orders for
// which they wait.
[[nodiscard]] std::size_t connections_of_members(std::size_t open_files);

}  // namespace ratoon::runtime
