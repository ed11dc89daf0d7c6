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

// Returns the indices of the objects in the order in which they should be evicted. Objects without a known
// next use come first, beginning with the least recently used one. Objects with a known next use follow,
// beginning with the one that is used last (Belady's rule, which is optimal if all future uses are known).
[[nodiscard]] std::vector<std::size_t> eviction_order(std::span<const CachedObject> objects);

// Returns how many bytes must be evicted so that `needed` more bytes fit into `limit`. `needed` must be at
// most `limit`.
[[nodiscard]] std::uint64_t excess_bytes(std::uint64_t held, std::uint64_t needed, std::uint64_t limit);

}  // namespace ratoon::objects
