// The mark of a folder is a hash of its inode. If another folder replaces the folder at the same path, the
// new folder has another mark.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ratoon {

// Returns a hash of the folder's inode number and, if the file system has it, its time of birth. Every
// process gets the same hash while the folder exists. The hash is 0 if the inode number is unknown.
[[nodiscard]] std::uint64_t folder_inode_hash(const std::filesystem::path& folder);

}  // namespace ratoon
