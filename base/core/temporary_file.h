// The file that fill_file_atomically() writes before it has its name. Its writer holds a lock on it, so that
// others can tell what a killed writer left behind from what is being written.
#pragma once

#include <filesystem>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon {

struct TemporaryFile {
  std::filesystem::path path;
  UniqueFd fd;
  UniqueFd lock;  // the same open file: the lock is held until both are closed
};

// A new one beside `path`.
[[nodiscard]] Result<TemporaryFile> create_temporary_file(const std::filesystem::path& path, unsigned mode);

}  // namespace ratoon
