// Computes SHA-256 and HMAC-SHA-256 with OpenSSL. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ratoon::objects {

using Sha256 = std::array<unsigned char, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// Lower-case digits.
[[nodiscard]] std::string to_hex(const Sha256& digest);
// Returns the bytes of the digest, which can be the key of another HMAC.
[[nodiscard]] std::string_view raw(const Sha256& digest);

}  // namespace ratoon::objects
