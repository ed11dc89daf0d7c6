// Computes the order in which a full cache evicts its files. Pure.
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
  std::int64_t last_use_nanoseconds = 0;    // since 1970, by the file's access time
  std::optional<std::uint64_t> next_use{};  // its position in the known future; nothing: not expected again
};

// Returns indices in the order of eviction: first objects that are not expected again, the least recently
// used first; then objects by their next use, the latest first (Belady's rule, which is optimal when the
// future is known).
[[nodiscard]] std::vector<std::size_t> eviction_order(std::span<const CachedObject> objects);

// Returns how many bytes to evict so that `needed` more bytes fit. `needed` is at most `limit`.
[[nodiscard]] std::uint64_t excess_bytes(std::uint64_t held, std::uint64_t needed, std::uint64_t limit);

}  // namespace ratoon::objects
