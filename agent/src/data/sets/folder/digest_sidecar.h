// A note is a small file beside a large file of data. A note contains the hash of the large file, so that the
// next start of a program need not read the large file to hash it.
//
// A program uses the note if the large file still has the length and the modification time that the note
// contains. The note must also be newer than the large file's modification time by more than the resolution
// of file times. make and rsync detect unchanged files in the same way. A copy of the file has another
// modification time, so a program that opens the copy reads and hashes it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/xxh3.h"

namespace ratoon::data {

struct HashedFileRange {
  std::uint64_t file_bytes = 0;
  std::uint64_t skipped_bytes = 0;  // at the file's beginning, not part of the hash
  std::int64_t modified_nanoseconds = 0;

  friend bool operator==(const HashedFileRange&, const HashedFileRange&) = default;
};

[[nodiscard]] std::string encode_digest_sidecar(const HashedFileRange& what, Hash128 hash);
// Parses a note. Returns the note's hash if the note is complete and describes the same length and
// modification time as `what`.
[[nodiscard]] std::optional<Hash128> parse_digest_sidecar(std::string_view text, const HashedFileRange& what);

[[nodiscard]] std::filesystem::path digest_sidecar_path(const std::filesystem::path& file);
// Returns the hash in the note beside the file, if the note is still valid.
[[nodiscard]] std::optional<Hash128> find_digest_sidecar(const std::filesystem::path& file,
                                                         const HashedFileRange& what);
// If the folder cannot be written, the hash is not stored, and the next start reads the file again.
void save_digest_sidecar(const std::filesystem::path& file, const HashedFileRange& what, Hash128 hash);

}  // namespace ratoon::data
