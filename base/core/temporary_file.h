// The file that fill_file_atomically() writes before it gets its name. The writer holds a lock on the file,
// so that other processes can distinguish a file that is being written from one that a killed writer left.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon {

struct TemporaryFile {
  std::filesystem::path path;
  UniqueFd fd;
  UniqueFd lock;  // a duplicate of `fd`: the lock is held until both are closed
};

// Creates a temporary file beside `path`.
[[nodiscard]] Result<TemporaryFile> create_temporary_file(const std::filesystem::path& path, unsigned mode);

}  // namespace ratoon
