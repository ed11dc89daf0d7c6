// EpochOrder: in which order one epoch of one source visits its samples. Immutable, so that readers on
// several threads share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "agent/src/data/order/recipe.h"

namespace ratoon::data {

// Places are 0 to epoch_slots(source) - 1; callers keep to them.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;
  virtual ~EpochOrder() = default;

  [[nodiscard]] virtual std::uint64_t at(std::uint64_t place) const = 0;
  // The first one that holds it; none where the epoch leaves it out.
  [[nodiscard]] virtual std::optional<std::uint64_t> place_of(std::uint64_t sample) const = 0;
  // The samples at place, place + 1, ...: the same as at() gives.
  virtual void fill(std::uint64_t place, std::span<std::uint64_t> samples) const = 0;
};

[[nodiscard]] std::shared_ptr<const EpochOrder> make_epoch_order(const std::shared_ptr<const Recipe>& recipe,
                                                                 std::uint64_t source, std::uint64_t epoch);

}  // namespace ratoon::data
