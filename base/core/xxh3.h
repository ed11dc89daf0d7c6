// XXH3 (64 and 128 bits, seed 0): identifies the content of tensors and shards. XXH3 is fast, but does not
// protect against an adversary.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// Returns the canonical form: 32 lower-case hexadecimal digits, most significant first, as in xxh128sum.
[[nodiscard]] std::string to_hex(Hash128 hash);

// Accepts only the canonical form of to_hex(), so that equal hashes have equal texts.
[[nodiscard]] Result<Hash128> parse_hash128(std::string_view text);

[[nodiscard]] std::uint64_t xxh3_64(std::span<const std::byte> data);
[[nodiscard]] Hash128 xxh3_128(std::span<const std::byte> data);

// Computes XXH3 hashes of bytes that arrive in pieces. A stream can return its 64-bit or 128-bit digest at
// any time.
class Xxh3Stream {
 public:
  Xxh3Stream();
  Xxh3Stream(Xxh3Stream&& other) noexcept;
  Xxh3Stream& operator=(Xxh3Stream&& other) noexcept;
  ~Xxh3Stream();

  void update(std::span<const std::byte> data);
  [[nodiscard]] std::uint64_t digest64() const;
  [[nodiscard]] Hash128 digest128() const;

  // Forgets all added bytes, so that the stream is like a new one.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ratoon

template <>
struct std::hash<ratoon::Hash128> {
  std::size_t operator()(const ratoon::Hash128& value) const noexcept {
    return static_cast<std::size_t>(value.low);
  }
};
