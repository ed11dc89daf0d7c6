// A mark identifies a folder: a folder that is later created at, or moved to, its path has another mark.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ratoon {

// Returns a hash of the folder's inode number and, if the file system has it, its time of birth. Every
// process gets the same hash while the folder exists. The hash is 0 if the inode number is unknown.
[[nodiscard]] std::uint64_t folder_mark(const std::filesystem::path& folder);

}  // namespace ratoon
