#include "agent/src/mds/format/hash.h"

#include <algorithm>
#include <array>
#include <memory>

#include <openssl/evp.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/core/hex.h"
#include "base/core/split_join.h"
#include "base/core/xxh3.h"

namespace ratoon::mds {
namespace {

using Bytes = std::span<const std::byte>;

// The canonical text of an xxHash begins with the most significant digit, so it equals the text that to_hex()
// returns for the number.

struct Algorithm {
  std::string_view name;
  std::size_t digits;
  const char* openssl;                      // its name in OpenSSL, or null
  std::string (*compute)(Bytes) = nullptr;  // used if `openssl` is null
};

std::string xxh3_64_hex(Bytes bytes) {
  return to_hex(xxh3_64(bytes));
}
std::string xxh3_128_hex(Bytes bytes) {
  return to_hex(xxh3_128(bytes));
}
std::string xxh32_hex(Bytes bytes) {
  return to_hex(XXH32(bytes.data(), bytes.size(), 0));
}
std::string xxh64_hex(Bytes bytes) {
  return to_hex(std::uint64_t{XXH64(bytes.data(), bytes.size(), 0)});
}

constexpr std::array kAlgorithms{
    Algorithm{"blake2b", 128, "BLAKE2B-512"},
    Algorithm{"blake2s", 64, "BLAKE2S-256"},
    Algorithm{"md5", 32, "MD5"},
    Algorithm{"md5-sha1", 72, "MD5-SHA1"},
    Algorithm{"ripemd160", 40, "RIPEMD160"},
    Algorithm{"sha1", 40, "SHA1"},
    Algorithm{"sha224", 56, "SHA2-224"},
    Algorithm{"sha256", 64, "SHA2-256"},
    Algorithm{"sha384", 96, "SHA2-384"},
    Algorithm{"sha3_224", 56, "SHA3-224"},
    Algorithm{"sha3_256", 64, "SHA3-256"},
    Algorithm{"sha3_384", 96, "SHA3-384"},
    Algorithm{"sha3_512", 128, "SHA3-512"},
    Algorithm{"sha512", 128, "SHA2-512"},
    Algorithm{"sha512_224", 56, "SHA2-512/224"},
    Algorithm{"sha512_256", 64, "SHA2-512/256"},
    Algorithm{"sm3", 64, "SM3"},
    Algorithm{"xxh128", 32, nullptr, xxh3_128_hex},
    Algorithm{"xxh32", 8, nullptr, xxh32_hex},
    Algorithm{"xxh3_128", 32, nullptr, xxh3_128_hex},
    Algorithm{"xxh3_64", 16, nullptr, xxh3_64_hex},
    Algorithm{"xxh64", 16, nullptr, xxh64_hex},
};

const Algorithm* find_algorithm(std::string_view name) {
  const auto found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                                  [&](const Algorithm& algorithm) { return algorithm.name == name; });
  return found == kAlgorithms.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::size_t> digest_digit_count(std::string_view algorithm) {
  const Algorithm* const known = find_algorithm(algorithm);
  if (known == nullptr) return std::nullopt;
  return known->digits;
}

Error unknown_hash_error(std::string_view algorithm) {
  return Error(ErrorKind::kInvalid,
               "the hash '" + std::string(algorithm.substr(0, 80)) +
                   "' is unknown; expected one of: " + join(kAlgorithms, ", ", &Algorithm::name));
}

Result<std::string> hash_of(std::string_view algorithm, Bytes bytes) {
  const Algorithm* const known = find_algorithm(algorithm);
  if (known == nullptr) return unknown_hash_error(algorithm);
  if (known->compute != nullptr) return known->compute(bytes);
  const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> method(EVP_MD_fetch(nullptr, known->openssl, nullptr),
                                                               &EVP_MD_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (method == nullptr ||
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, method.get(), nullptr) != 1) {
    return Error(ErrorKind::kInvalid, "this machine's OpenSSL does not compute the hash '" +
                                          std::string(algorithm) +
                                          "' (some are switched off by its configuration)");
  }
  return to_hex(std::as_bytes(std::span(digest).first(size)));
}

Result<void> check_hashes(std::span<const FileHash> expected, Bytes bytes) {
  for (const FileHash& hash : expected) {
    const auto found = hash_of(hash.algorithm, bytes);
    if (!found) return found.error();
    if (*found == hash.digest) continue;
    return Error(ErrorKind::kCorrupted,
                 "the " + hash.algorithm + " is " + *found + ", but the index says " + hash.digest);
  }
  return {};
}

}  // namespace ratoon::mds
