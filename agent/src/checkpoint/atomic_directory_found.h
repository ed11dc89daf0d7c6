// What AtomicDirectory reads in the names of its folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/atomic_directory.h>

namespace ratoon {

inline constexpr std::string_view kUnfinishedEnding = ".unfinished";

// What a name says.
struct AtomicDirectory::Found {
  std::string name;
  std::uint64_t number = 0;
  bool is_pinned = false;
  bool is_unfinished = false;
  bool is_there = true;  // the link names it, and it is gone, or was not yet there
};

}  // namespace ratoon
