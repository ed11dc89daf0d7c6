// Opens the files that RealDisk reads. `shown` is the file's name for error messages.
#pragma once

#include <memory>
#include <string>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/unique_fd.h"

namespace ratoon::checkpoint {

// Returns an error if `file` is not a regular file, for example if it is a pipe or a folder.
[[nodiscard]] Result<std::unique_ptr<ReadFile>> make_read_file(UniqueFd fd, std::string shown);

}  // namespace ratoon::checkpoint
