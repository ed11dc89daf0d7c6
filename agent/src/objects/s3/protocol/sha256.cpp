#include "agent/src/objects/s3/protocol/sha256.h"

#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/core/hex.h"

namespace ratoon::objects {

Sha256 sha256(std::string_view bytes) {
  Sha256 digest{};
  // The calls of OpenSSL fail only if there is no memory.
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    std::abort();
  return digest;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 digest{};
  // Pass a valid pointer even for an empty key, because a null pointer would mean "use the key of the last
  // call" to OpenSSL.
  const char* at = key.empty() ? "" : key.data();
  if (HMAC(EVP_sha256(), at, static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(),
           nullptr) == nullptr)
    std::abort();
  return digest;
}

std::string to_hex(const Sha256& digest) {
  return ratoon::to_hex(raw(digest));
}

std::string_view raw(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace ratoon::objects
