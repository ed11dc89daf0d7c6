// AtomicDirectory::Entry: the parsed name of one directory in the folder of an AtomicDirectory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/atomic_directory.h>

namespace ratoon {

inline constexpr std::string_view kUnfinishedEnding = ".unfinished";

struct AtomicDirectory::Entry {
  std::string name;
  std::uint64_t number = 0;
  bool is_pinned = false;
  bool is_unfinished = false;
  bool link_target_exists = true;  // false: no link, or a link to a directory that does not exist
};

}  // namespace ratoon
