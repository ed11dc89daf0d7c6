// The note beside a large file that says what its bytes hash to, so that a start need not read them all.
//
// It is believed while the file has the length and the time of last change that the note names, and if the
// note is younger than that change by more than file systems' clocks are coarse: as long as make and rsync
// would hold the file for unchanged. A copy of the file has another time, and is read once.
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
  std::uint64_t skipped_bytes = 0;  // at its beginning, not part of the hash
  std::int64_t modified_nanoseconds = 0;

  friend bool operator==(const HashedBytes&, const HashedBytes&) = default;
};

[[nodiscard]] std::string encode_digest_note(const HashedBytes& what, Hash128 hash);
// The hash, if the text is a whole note on just these bytes.
[[nodiscard]] std::optional<Hash128> read_digest_note(std::string_view text, const HashedBytes& what);

[[nodiscard]] std::filesystem::path digest_note_of(const std::filesystem::path& file);
// The hash of the note beside the file, if it can be believed.
[[nodiscard]] std::optional<Hash128> find_digest_note(const std::filesystem::path& file,
                                                      const HashedBytes& what);
// Where the folder cannot be written the hash is not kept: that costs time at the next start and nothing
// else.
void keep_digest_note(const std::filesystem::path& file, const HashedBytes& what, Hash128 hash);

}  // namespace ratoon::data
