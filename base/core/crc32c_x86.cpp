// CRC32C with the SSE4.2 instruction. Only functions of crc32c_x86.cpp are compiled for SSE4.2, and they run
// only if has_hardware() returns true.
#ifdef __x86_64__

#include <cstring>

#include <nmmintrin.h>

#include "base/core/crc32c.h"
#include "base/core/crc32c_tables.h"

#define RATOON_SSE42 __attribute__((target("sse4.2")))

namespace ratoon::crc32c_ways {

namespace {

using crc32c_tables::Multiplier;
using crc32c_tables::power_of_bytes;

// Three blocks are processed at once to hide the latency of the CRC instruction, which takes 3 cycles; one
// instruction can start in each cycle. With long blocks the cost of joining the three CRCs is negligible; the
// short blocks after them leave few bytes for the slow loop at the end.
constexpr std::size_t kLongBlock = 8192;
constexpr std::size_t kShortBlock = 256;
constexpr Multiplier kLongBlockMultiplier(power_of_bytes(kLongBlock));
constexpr Multiplier kShortBlockMultiplier(power_of_bytes(kShortBlock));

RATOON_SSE42 std::uint64_t add_word(std::uint64_t crc, const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return _mm_crc32_u64(crc, word);
}

// Processes three blocks of `data` at a time and removes them, until fewer than three blocks are left.
template <std::size_t kBlock>
RATOON_SSE42 std::uint32_t add_block_triples(std::uint32_t crc, std::span<const std::byte>& data,
                                             const Multiplier& past_block) {
  while (data.size() >= 3 * kBlock) {
    const std::byte* const start = data.data();
    std::uint64_t first = crc;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kBlock; i += sizeof(std::uint64_t)) {
      first = add_word(first, start + i);
      second = add_word(second, start + kBlock + i);
      third = add_word(third, start + 2 * kBlock + i);
    }
    crc = past_block(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    crc = past_block(crc) ^ static_cast<std::uint32_t>(third);
    data = data.subspan(3 * kBlock);
  }
  return crc;
}

}  // namespace

bool has_hardware() {
  return __builtin_cpu_supports("sse4.2") != 0;
}

RATOON_SSE42 std::uint32_t hardware(std::span<const std::byte> data, std::uint32_t crc) {
  crc = add_block_triples<kLongBlock>(~crc, data, kLongBlockMultiplier);
  crc = add_block_triples<kShortBlock>(crc, data, kShortBlockMultiplier);
  for (; data.size() >= sizeof(std::uint64_t); data = data.subspan(sizeof(std::uint64_t))) {
    crc = static_cast<std::uint32_t>(add_word(crc, data.data()));
  }
  for (const std::byte byte : data) crc = _mm_crc32_u8(crc, std::to_integer<unsigned char>(byte));
  return ~crc;
}

}  // namespace ratoon::crc32c_ways

#endif
