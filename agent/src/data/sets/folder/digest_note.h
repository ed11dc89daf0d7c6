// A note is a file beside a large file. A note has the large file's hash, so that a start need not read it.
//
// The note is used under two conditions: the file has the length and the modification time in the note, and
// the note is newer than that time by more than the resolution of file systems' clocks. make and rsync use
// the same criterion for unchanged files. A copy of the file has another modification time, so the copy is
// read once.
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
// Returns the hash in a note if `text` is a complete note about the bytes `what`.
[[nodiscard]] std::optional<Hash128> read_digest_note(std::string_view text, const HashedBytes& what);

[[nodiscard]] std::filesystem::path digest_note_of(const std::filesystem::path& file);
// Returns the hash in the note beside the file, if the note is still valid.
[[nodiscard]] std::optional<Hash128> find_digest_note(const std::filesystem::path& file,
                                                      const HashedBytes& what);
// If the folder cannot be written, the hash is not stored, and the next start reads the file again.
void keep_digest_note(const std::filesystem::path& file, const HashedBytes& what, Hash128 hash);

}  // namespace ratoon::data
