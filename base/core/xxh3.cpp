#include "base/core/xxh3.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/core/hex.h"

namespace ratoon {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

Hash128 to_hash128(XXH128_hash_t hash) {
  return {.high = hash.high64, .low = hash.low64};
}

}  // namespace

struct Xxh3Stream::State {
  XXH3_state_t xxh3;
};

std::string to_hex(Hash128 hash) {
  return to_hex(hash.high) + to_hex(hash.low);
}

Result<Hash128> parse_hash128(std::string_view text) {
  if (text.size() != 32 || text.find_first_not_of(kDigits) != std::string_view::npos) {
    // The error shows only the beginning of the text, which may be long.
    return Error(ErrorKind::kInvalid, "a 128-bit hash has 32 lower-case hexadecimal digits, but this is \"" +
                                          std::string(text.substr(0, 40)) + "\"");
  }
  Hash128 hash;
  for (const char digit : text) {
    hash.high = hash.high << 4 | hash.low >> 60;
    hash.low = hash.low << 4 | kDigits.find(digit);
  }
  return hash;
}

std::uint64_t xxh3_64(std::span<const std::byte> data) {
  return XXH3_64bits(data.data(), data.size());
}

Hash128 xxh3_128(std::span<const std::byte> data) {
  return to_hash128(XXH3_128bits(data.data(), data.size()));
}

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) {
  reset();
}
Xxh3Stream::Xxh3Stream(Xxh3Stream&& other) noexcept = default;
Xxh3Stream& Xxh3Stream::operator=(Xxh3Stream&& other) noexcept = default;
Xxh3Stream::~Xxh3Stream() = default;

// In xxHash the 64-bit and the 128-bit hash share one state; only the digest functions differ.
void Xxh3Stream::update(std::span<const std::byte> data) {
  XXH3_128bits_update(&state_->xxh3, data.data(), data.size());
}
std::uint64_t Xxh3Stream::digest64() const {
  return XXH3_64bits_digest(&state_->xxh3);
}
Hash128 Xxh3Stream::digest128() const {
  return to_hash128(XXH3_128bits_digest(&state_->xxh3));
}
void Xxh3Stream::reset() {
  XXH3_128bits_reset(&state_->xxh3);
}

}  // namespace ratoon
