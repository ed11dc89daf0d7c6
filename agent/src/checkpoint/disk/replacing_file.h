// A file that replaces another one: close() gives it the name, durably and atomically. The file is written
// from its beginning to its end. If close() is not called, or fails, nothing of the file remains.
#pragma once

#include <filesystem>
#include <memory>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

// Each call has a timeout (disk_with_timeout.h).
[[nodiscard]] Result<std::unique_ptr<WriteFile>> replace_with_timeout(
    const std::filesystem::path& path, std::shared_ptr<CallsWithTimeout> calls);

}  // namespace ratoon::checkpoint
