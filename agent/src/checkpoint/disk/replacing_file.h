// A new file that replaces an old file: close() renames it to the old file's name, durably and atomically.
// Write the new file from its beginning to its end. If close() fails or is not called, the new file is
// removed and the old file stays unchanged.
#pragma once

#include <filesystem>
#include <memory>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

// Each call on the returned file has a timeout (disk_with_timeout.h).
[[nodiscard]] Result<std::unique_ptr<WriteFile>> replace_with_timeout(
    const std::filesystem::path& path, std::shared_ptr<CallsWithTimeout> calls);

}  // namespace ratoon::checkpoint
