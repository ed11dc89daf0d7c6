// data/order/stream/: Stream: its plan, its state in a checkpoint, and the differences allowed on resume. No
// I/O.
//
// A stream's plan has the definition of its slots, and a list of segments that says which slots batches take.
// A change of the plan adds a segment and keeps the earlier segments, so the slots of every past batch can be
// computed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ratoon/stream_reader.h>

#include "agent/src/data/order/batch_rule.h"
#include "agent/src/data/order/mixture.h"
#include "agent/src/data/order/stream/recipe.h"

namespace ratoon::data {

constexpr std::size_t kSegmentsMax = 1024;

struct Segment {
  std::uint64_t from = 0;   // the cursor at the change: the previous segment ends there
  std::uint64_t start = 0;  // its first slot; the slots from `from` to here are skipped
  // `asked` is the requested begin, from which the batch rule computes `start`. `asked` is `from` unless the
  // program asked for a slot. If the global batch changes, `start` is computed from `asked` again.
  std::uint64_t asked = 0;
  std::uint64_t batch = 0;  // the number of batches before it
  std::uint64_t global_batch = 0;
  std::shared_ptr<const Mixture>
      mixture;  // null with one source; shared with the previous segment unless the weights changed
};

struct Plan {
  std::shared_ptr<const Recipe> recipe;
  std::vector<Segment> segments;  // never empty
  std::uint64_t first_known = 0;  // earlier slots belong to another recipe

  [[nodiscard]] const Segment& last() const { return segments.back(); }
  [[nodiscard]] BatchRule rule(const Segment& segment) const;
  // Reach is the mixture from which a slot is drawn, and the slot where the next mixture begins. Call
  // mixture_at() only if there are several sources.
  struct Reach {
    std::shared_ptr<const Mixture> mixture;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Reach mixture_at(std::uint64_t slot) const;
  // Returns the slot of draw number `count` from `source`, or nothing if the source's weight became 0 before
  // that draw.
  [[nodiscard]] std::optional<std::uint64_t> slot_with(std::uint32_t source, std::uint64_t count) const;

  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;
  // Returns the cursor (the next slot) after `batches` batches.
  [[nodiscard]] std::uint64_t cursor_after(std::uint64_t batches) const;
};

// Returns a plan that follows the recipe from `slot` on.
[[nodiscard]] Plan begin_plan(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches,
                              std::uint64_t global_batch);

// Returns the value of `asked` for a segment whose saved state lacks it. The value is `from` if the skipped
// slots fill no batch, else `start`, because the program then skipped slots.
[[nodiscard]] std::uint64_t usual_asked(const Plan& plan, const Segment& segment);

// The functions below change the plan after `batches` batches. If there are several changes of one kind
// without a batch between them, only the last counts. The functions below throw std::invalid_argument if the
// changed plan is invalid, and Failure if it has over kSegmentsMax segments.
[[nodiscard]] Plan with_global_batch(Plan plan, std::uint64_t batches, std::uint64_t global_batch);
[[nodiscard]] Plan with_weights(Plan plan, std::uint64_t batches, std::vector<std::uint32_t> weights);
[[nodiscard]] Plan with_skip(Plan plan, std::uint64_t batches, std::uint64_t slot);

// Returns how often each source was drawn in the slots before `slot`, including skipped slots.
[[nodiscard]] std::vector<std::uint64_t> counts_before(const Plan& plan, std::uint64_t slot);
// Returns how often each source was drawn in the slots that the first `batches` batches skipped.
[[nodiscard]] std::vector<std::uint64_t> skipped_before(const Plan& plan, std::uint64_t batches);

}  // namespace ratoon::data
