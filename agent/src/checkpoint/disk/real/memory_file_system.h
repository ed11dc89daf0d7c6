// Decides whether a folder is on a file system in memory (such as tmpfs), where no operation waits for a
// disk.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

[[nodiscard]] bool is_in_memory(int folder);
// Returns true if `folder` is on a file system in memory, or would be if it does not exist yet. Reading the
// type of the file system may itself wait for a disk.
[[nodiscard]] Result<bool> is_in_memory(const std::filesystem::path& folder);

}  // namespace ratoon::checkpoint
