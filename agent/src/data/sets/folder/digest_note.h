// A note is a small file beside a large file of data. A note contains the hash of the large file, so that the
// next start of a program need not read the file for it.
//
// The note is used if the file still has the length and the modification time that the note contains. In
// addition, the note must be newer than the modification time by more than the resolution of file times. make
// and rsync detect unchanged files in the same way. A copy of the file has another modification time, so a
// program that opens the copy reads and hashes it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/xxh3.h"

namespace ratoon::data {

struct HashedBytes {
  std::uint64_t file_bytes = 0;
  std::uint64_t skipped_bytes = 0;  // at the file's beginning, not part of the hash
  std::int64_t modified_nanoseconds = 0;

  friend bool operator==(const HashedBytes&, const HashedBytes&) = default;
};

[[nodiscard]] std::string encode_digest_note(const HashedBytes& what, Hash128 hash);
// Parses a note. Returns its hash if the note is complete and describes the same length and modification time
// as `what`.
[[nodiscard]] std::optional<Hash128> read_digest_note(std::string_view text, const HashedBytes& what);

[[nodiscard]] std::filesystem::path digest_note_of(const std::filesystem::path& file);
// Returns the hash in the note beside the file, if the note is still valid.
[[nodiscard]] std::optional<Hash128> find_digest_note(const std::filesystem::path& file,
                                                      const HashedBytes& what);
// If the folder cannot be written, the hash is not stored, and the next start reads the file again.
void keep_digest_note(const std::filesystem::path& file, const HashedBytes& what, Hash128 hash);

}  // namespace ratoon::data
