// Computes the hash of a file of any size. The file is read in pieces, so that the function needs little
// memory. A disk error is returned as an Error.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ratoon/result.h>

#include "base/core/xxh3.h"

namespace ratoon::data {

// The length, modification time and hash of the file that was read. This file may be another one than the
// file that the program opened at the same path before.
struct HashedFile {
  std::uint64_t bytes = 0;  // all bytes, including the skipped ones
  std::int64_t modified_nanoseconds = 0;
  Hash128 hash;
};

// Hashes all bytes of the file after the first `skipped_bytes` bytes. If the file changes during the call,
// returns an error of kind kConflict.
[[nodiscard]] Result<HashedFile> hash_file(const std::filesystem::path& path,
                                           std::uint64_t skipped_bytes = 0);

}  // namespace ratoon::data
