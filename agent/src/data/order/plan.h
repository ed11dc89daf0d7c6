// The plan of a stream: what its slots are made of, and a list of segments that says which of them batches
// take. A change of plan adds a segment; those before it stay, so what any batch took can be told for ever.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ratoon/stream_reader.h>

#include "agent/src/data/order/batch_rule.h"
#include "agent/src/data/order/mixture.h"
#include "agent/src/data/order/recipe.h"

namespace ratoon::data {

constexpr std::size_t kSegmentsMax = 1024;

struct Segment {
  std::uint64_t from = 0;   // where the cursor stood: the one before it ends there
  std::uint64_t start = 0;  // its first slot; those between are skipped
  // What it was to begin with, which its batch settles at `start`: `from`, unless somebody asked for a slot.
  // Another batch settles from here again.
  std::uint64_t asked = 0;
  std::uint64_t batch = 0;  // batches before it
  std::uint64_t global_batch = 0;
  std::shared_ptr<const Mixture>
      mixture;  // none with one source; the one before's unless the weights changed
};

struct Plan {
  std::shared_ptr<const Recipe> recipe;
  std::vector<Segment> segments;  // never empty
  std::uint64_t first_known = 0;  // slots before it were of another recipe

  [[nodiscard]] const Segment& last() const { return segments.back(); }
  [[nodiscard]] BatchRule rule(const Segment& segment) const;
  // The mixture that a slot is drawn from, and the slot with which the next one begins. Only with several
  // sources.
  struct Reach {
    std::shared_ptr<const Mixture> mixture;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Reach mixture_at(std::uint64_t slot) const;
  // The slot that draws from a source when it was drawn `count` times; none if its weight became 0 before.
  [[nodiscard]] std::optional<std::uint64_t> slot_with(std::uint32_t source, std::uint64_t count) const;

  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;
  // The cursor after so many batches.
  [[nodiscard]] std::uint64_t cursor_after(std::uint64_t batches) const;
};

// The plan of the options, from this slot on.
[[nodiscard]] Plan begin_plan(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches,
                              std::uint64_t global_batch);

// What `asked` is of a segment whose state does not say: what was passed over is what fills no batch, if that
// explains all of it, and otherwise a skip.
[[nodiscard]] std::uint64_t usual_asked(const Plan& plan, const Segment& segment);

// Changes after `batches` batches. Of several without a batch between, each is made as if those before it,
// of the same kind, had never been. They throw std::invalid_argument for what makes no plan, and Failure
// above kSegmentsMax.
[[nodiscard]] Plan with_global_batch(Plan plan, std::uint64_t batches, std::uint64_t global_batch);
[[nodiscard]] Plan with_weights(Plan plan, std::uint64_t batches, std::vector<std::uint32_t> weights);
[[nodiscard]] Plan with_skip(Plan plan, std::uint64_t batches, std::uint64_t slot);

// How often each source was drawn in the slots before this one, whether batches took them or not.
[[nodiscard]] std::vector<std::uint64_t> counts_before(const Plan& plan, std::uint64_t slot);
// And in those that so many batches passed over.
[[nodiscard]] std::vector<std::uint64_t> skipped_before(const Plan& plan, std::uint64_t batches);

}  // namespace ratoon::data
