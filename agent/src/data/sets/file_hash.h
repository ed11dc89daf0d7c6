// The hash of a file of any size, read in pieces: it takes no memory to speak of, and a bad disk is an Error.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

#include "base/core/xxh3.h"

namespace ratoon::data {

// What was hashed: the file may be another one than it was when it was opened before.
struct HashedFile {
  std::uint64_t bytes = 0;  // all, with those that were skipped
  std::int64_t modified_nanoseconds = 0;
  Hash128 hash;
};

// Of all bytes after `skipped_bytes`. A file that changes meanwhile is ErrorKind::kConflict.
[[nodiscard]] Result<HashedFile> hash_file(const std::filesystem::path& path,
                                           std::uint64_t skipped_bytes = 0);

}  // namespace ratoon::data
