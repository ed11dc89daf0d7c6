// Hashes of whole files, by the names that hashlib and xxhash of Python give them.
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

// How many hexadecimal digits the digest has; nothing for names that are unknown here. Digests of a length
// that is up to the caller (shake_128, shake_256) are unknown to Streaming too.
[[nodiscard]] std::optional<std::size_t> digest_digits(std::string_view algorithm);

// "unknown hash 'x'; there are: ...".
[[nodiscard]] Error unknown_hash(std::string_view algorithm);

[[nodiscard]] Result<std::string> hash_of(std::string_view algorithm, std::span<const std::byte> bytes);

// Whether the bytes are those that were hashed, by every one of the hashes.
[[nodiscard]] Result<void> check_hashes(std::span<const FileHash> expected, std::span<const std::byte> bytes);

}  // namespace ratoon::mds
