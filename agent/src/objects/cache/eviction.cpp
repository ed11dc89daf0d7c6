#include "agent/src/objects/cache/eviction.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ratoon::objects {

std::vector<std::size_t> eviction_order(std::span<const CachedObject> objects) {
  std::vector<std::size_t> order(objects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    const CachedObject& object = objects[i];
    // An object whose next use is later comes first in the order of eviction. Objects that are equal in all
    // other respects are ordered by name, so that every process computes the same order.
    return std::tuple(object.next_use.has_value(), object.next_use ? ~*object.next_use : 0,
                      object.last_use_nanoseconds, std::string_view(object.name));
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

std::uint64_t excess_bytes(std::uint64_t held, std::uint64_t needed, std::uint64_t limit) {
  const std::uint64_t allowed = limit - needed;
  return held > allowed ? held - allowed : 0;
}

}  // namespace ratoon::objects
