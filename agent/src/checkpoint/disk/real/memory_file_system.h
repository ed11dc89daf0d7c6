// Tells whether a folder is on a file system in memory, where no operation waits for a disk.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

[[nodiscard]] bool is_in_memory(int folder);
// Tells the same for a folder that may not exist yet. This call may itself wait for a disk.
[[nodiscard]] Result<bool> is_in_memory(const std::filesystem::path& folder);

}  // namespace ratoon::checkpoint
