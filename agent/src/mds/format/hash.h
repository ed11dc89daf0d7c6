// Hashes whole files. Hash algorithms have the names that Python's packages hashlib and xxhash give them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::mds {

struct FileHash {
  std::string algorithm;
  std::string digest;  // lower-case hexadecimal

  friend bool operator==(const FileHash&, const FileHash&) = default;
};

// Returns the number of hexadecimal digits of the digest, or nothing for an unknown name. Hashes whose digest
// length the caller chooses (shake_128, shake_256) are not supported, as in MosaicML Streaming.
[[nodiscard]] std::optional<std::size_t> digest_digit_count(std::string_view algorithm);

// Makes the error that a hash name is unknown: "the hash 'x' is unknown; expected one of: ...".
[[nodiscard]] Error unknown_hash_error(std::string_view algorithm);

[[nodiscard]] Result<std::string> hash_of(std::string_view algorithm, std::span<const std::byte> bytes);

// Checks that `bytes` have each of the expected hashes.
[[nodiscard]] Result<void> check_hashes(std::span<const FileHash> expected, std::span<const std::byte> bytes);

}  // namespace ratoon::mds
