// A new file that replaces another file: close() gives it that file's name, durably and atomically. The new
// file is written from beginning to end. If close() is not called, or fails, nothing of the new file remains.
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
