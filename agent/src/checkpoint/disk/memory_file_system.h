// Whether files lie in memory, and no disk is waited for, whatever is done with them.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

[[nodiscard]] bool is_in_memory(int folder);
// Of a folder that may still have to be made. The answer may itself wait for a disk.
[[nodiscard]] Result<bool> is_in_memory(const std::filesystem::path& folder);

}  // namespace ratoon::checkpoint
