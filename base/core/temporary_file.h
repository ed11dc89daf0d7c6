// The temporary file that fill_file_atomically() fills and then renames. The writer keeps the file locked, so
// that other processes can tell a file that is being written from one that a killed writer left.
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
