#include "agent/src/checkpoint/staging/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ratoon::checkpoint {
#ifdef __SSE2__
namespace {

constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kStreamingBytesMin = 4096;  // smaller copies may stay in the cache

void copy_cache_line(const std::byte* from, std::byte* to) {
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  auto* const target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source);
  const __m128i b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2);
  const __m128i d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void copy_streaming(std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  if (from.size() < kStreamingBytesMin) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  // Write whole cache lines, because the processor reads a line from memory first if only a part of it is
  // written.
  const std::size_t head =
      (kCacheLineBytes - reinterpret_cast<std::uintptr_t>(to) % kCacheLineBytes) % kCacheLineBytes;
  std::memcpy(to, from.data(), head);
  std::size_t at = head;
  for (; from.size() - at >= kCacheLineBytes; at += kCacheLineBytes)
    copy_cache_line(from.data() + at, to + at);
  std::memcpy(to + at, from.data() + at, from.size() - at);
  _mm_sfence();  // streaming stores are not ordered, not even by the release of a mutex
}
#else
void copy_streaming(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}
#endif

}  // namespace ratoon::checkpoint
