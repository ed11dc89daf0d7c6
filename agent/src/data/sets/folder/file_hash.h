// Hashes a file of any size. The file is read in pieces, which needs little memory. A disk error is returned
// as an Error.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

#include "base/core/xxh3.h"

namespace ratoon::data {

// Describes the hashed file, which may differ from the file that the program opened at this path before.
struct HashedFile {
  std::uint64_t bytes = 0;  // all bytes, including the skipped ones
  std::int64_t modified_nanoseconds = 0;
  Hash128 hash;
};

// Hashes all bytes of the file after the first `skipped_bytes` bytes. If the file changes during the call,
// the result is ErrorKind::kConflict.
[[nodiscard]] Result<HashedFile> hash_file(const std::filesystem::path& path,
                                           std::uint64_t skipped_bytes = 0);

}  // namespace ratoon::data
