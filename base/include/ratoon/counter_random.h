// Random numbers as a pure function of a seed and counters (Philox4x32-10 of Salmon et al., SC 2011).
//
//   ratoon::CounterRandom random(17, "mask", sample, epoch);  // the same on any rank, after any restart
//   const std::uint64_t at = random.below(512);
//   const bool is_flipped = random.unit_double() < 0.5;
//
// There is no state to save: the same (seed, purpose, stream, substream) gives the same numbers on any rank,
// thread or machine, and after any restart. The numbers decide which samples a run sees, so they are part of
// the on-disk contract: the golden values in tests/unit/core/philox_test.cpp never change.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace ratoon {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

// Returns one block of 128 random bits, a function of all bits of the key and the counter.
[[nodiscard]] constexpr PhiloxBlock philox4x32(PhiloxKey key, PhiloxBlock counter) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;  // the golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

// The output function of SplitMix64 (Steele et al., OOPSLA 2014): a bijection that spreads every input bit.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Mixes one more word into a hash. (With a plain sum, the pairs (1, 2) and (2, 1) would collide.)
[[nodiscard]] constexpr std::uint64_t mix_into(std::uint64_t hash, std::uint64_t word) {
  return splitmix64(hash ^ word);
}

// Hashes `seed` and the bytes of `purpose`: 8 bytes at a time (little-endian, zero-padded), then the number
// of bytes.
[[nodiscard]] constexpr std::uint64_t hash64(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t hash = splitmix64(seed);
  for (std::size_t start = 0; start < purpose.size(); start += 8) {
    const std::string_view chunk = purpose.substr(start, 8);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(chunk[i])} << (8 * i);
    }
    hash = mix_into(hash, word);
  }
  return mix_into(hash, purpose.size());
}

// A stream of 2^34 random 32-bit words. Philox's key is hash64(seed, purpose), low word first. Philox's
// counter is: stream (e.g. the sample id, low word first), substream (the epoch), block number.
class CounterRandom {
 public:
  using result_type = std::uint64_t;

  constexpr CounterRandom(std::uint64_t seed, std::string_view purpose, std::uint64_t stream = 0,
                          std::uint32_t substream = 0)
      : key_(split(hash64(seed, purpose))), stream_(split(stream)), substream_(substream) {}

  // Constructs the stream from a key, such as hash64(seed, purpose) that was computed before.
  [[nodiscard]] static constexpr CounterRandom with_key(std::uint64_t key, std::uint64_t stream,
                                                        std::uint32_t substream) {
    CounterRandom random;
    random.key_ = split(key);
    random.stream_ = split(stream);
    random.substream_ = substream;
    return random;
  }

  constexpr std::uint32_t next_u32() {
    if (position_ >= kLength) std::abort();  // repeating the stream silently would be worse
    if (position_ % 4 == 0 || !is_block_current_) {
      block_ =
          philox4x32(key_, {stream_[0], stream_[1], substream_, static_cast<std::uint32_t>(position_ / 4)});
      is_block_current_ = true;
    }
    return block_[position_++ % 4];
  }

  // Returns two words as one number, the low word first.
  constexpr std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | (std::uint64_t{next_u32()} << 32);
  }

  // Returns a uniform number in [0, n), without bias (Lemire 2019). n must not be 0. Draws two or more 32-bit
  // words from the stream.
  constexpr std::uint64_t below(std::uint64_t n) {
    if (n == 0) std::abort();
    Wide product = Wide{next_u64()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      // Rejects products whose low half is below 2^64 mod n, so that all results have equal probability.
      const std::uint64_t surplus = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < surplus) product = Wide{next_u64()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // Returns a uniform number in [0, 1), a multiple of 2^-53.
  constexpr double unit_double() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

  // position() returns the number of words taken so far, and seek() jumps to any word.
  [[nodiscard]] constexpr std::uint64_t position() const { return position_; }
  constexpr void seek(std::uint64_t position) {
    position_ = position;
    is_block_current_ = false;
  }

  // min(), max() and operator() make CounterRandom a UniformRandomBitGenerator. Do not use std::shuffle or
  // the std distributions where results must be repeatable, because their results differ between standard
  // libraries.
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() { return next_u64(); }

 private:
  constexpr CounterRandom() = default;

  __extension__ using Wide = unsigned __int128;

  static constexpr std::uint64_t kLength = std::uint64_t{4} << 32;  // the block number has 32 bits

  static constexpr PhiloxKey split(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }

  PhiloxKey key_{};
  PhiloxKey stream_{};
  std::uint32_t substream_ = 0;
  std::uint64_t position_ = 0;
  PhiloxBlock block_{};
  bool is_block_current_ = false;
};

}  // namespace ratoon
