// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), which also work in builds without OpenSSL. The trainer
// processes that start together prove by HMAC-SHA-256 that they know a shared secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ratoon {

inline constexpr std::size_t kSha256Bytes = 32;

// Returns the kSha256Bytes bytes of the digest; to_hex() converts these bytes to digits.
[[nodiscard]] std::string sha256_of(std::string_view bytes);
[[nodiscard]] std::string hmac_sha256_of(std::string_view key, std::string_view bytes);

// Compares in constant time, so that the duration does not reveal the position of the first different byte.
// The duration may reveal the sizes of `a` and `b`, which are not secret.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace ratoon
