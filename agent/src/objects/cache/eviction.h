// Which files of a full cache go first. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ratoon::objects {

struct CachedObject {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::int64_t last_use_nanoseconds = 0;    // since 1970, by the file's own time
  std::optional<std::uint64_t> next_use{};  // its place in the known future; nothing: not expected again
};

// Indices, the first to go first: what is not expected again, the least recently used before others; then
// what is expected latest (Belady's rule, which no other order beats where the future is known).
[[nodiscard]] std::vector<std::size_t> eviction_order(std::span<const CachedObject> objects);

// How many bytes must go so that `needed` more fit; `needed` is not above `limit`.
[[nodiscard]] std::uint64_t excess_bytes(std::uint64_t held, std::uint64_t needed, std::uint64_t limit);

}  // namespace ratoon::objects
