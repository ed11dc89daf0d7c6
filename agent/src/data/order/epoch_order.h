// data/order/: Computes the order of samples in a training run: permutations, mixtures of sources, and
// batches. The code does no I/O.
//
// EpochOrder: the order in which one epoch of one source visits its samples. An EpochOrder is immutable, so
// that several threads can use it at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "agent/src/data/order/stream/recipe.h"

namespace ratoon::data {

// `place` is a position in the epoch, from 0 to epoch_slots(source) - 1.
class EpochOrder {
 public:
  EpochOrder() = default;
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;
  virtual ~EpochOrder() = default;

  [[nodiscard]] virtual std::uint64_t at(std::uint64_t place) const = 0;
  // Returns the first position in the epoch at which the sample is visited, or nothing if the epoch leaves
  // the sample out.
  [[nodiscard]] virtual std::optional<std::uint64_t> position_of(std::uint64_t sample) const = 0;
  // Fills `samples` with at(place), at(place + 1), at(place + 2) and so on.
  virtual void fill_samples(std::uint64_t place, std::span<std::uint64_t> samples) const = 0;
};

[[nodiscard]] std::shared_ptr<const EpochOrder> make_epoch_order(const std::shared_ptr<const Recipe>& recipe,
                                                                 std::uint64_t source, std::uint64_t epoch);

}  // namespace ratoon::data
