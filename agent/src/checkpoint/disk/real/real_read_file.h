// The files that RealDisk reads. `shown` is a file's name in messages.
#pragma once

#include <memory>
#include <string>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// Returns an error for anything but a regular file.
[[nodiscard]] Result<std::unique_ptr<ReadFile>> make_read_file(UniqueFd fd, std::string shown);

}  // namespace ratoon::checkpoint
