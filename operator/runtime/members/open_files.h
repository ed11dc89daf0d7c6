// This process's limit of open files (RLIMIT_NOFILE), which also limits its connections.
#pragma once

#include <cstddef>

namespace ratoon::runtime {

// Raises the soft limit to the hard limit, as any user may; returns the new limit.
std::size_t raise_open_file_limit();

// The numbers of open files that the operator may use for connections of members. Each process has two
// connections: one for heartbeats, and one for the long poll for orders.
struct MemberConnections {
  std::size_t each_namespace = 0;
  std::size_t all = 0;  // more, so that no namespace uses up the places of the others
};

[[nodiscard]] MemberConnections connections_of_members(std::size_t open_files);

}  // namespace ratoon::runtime
