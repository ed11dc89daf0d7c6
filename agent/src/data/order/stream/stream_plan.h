// data/order/stream/: Stream: the plan of its batches, its state in a checkpoint, and the changes of options
// that are allowed when a run resumes. No I/O.
//
// A stream's plan consists of its recipe, which defines the sample of each slot, and a list of segments,
// which say which slots belong to which batch. A change of the plan adds a segment and keeps the earlier
// segments, so the slots of every past batch can be computed.
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
  // `asked` is the slot at which the segment was requested to begin. The batch rule computes `start` from
  // `asked`. `asked` equals `from` unless the program asked to skip to a slot. If the size of the global
  // batch changes, `start` is computed from `asked` again.
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
  // A Reach is the mixture (weights of the sources) that applies to a slot, and the slot at which the next
  // mixture begins. Call mixture_at() only if there are several sources.
  struct Reach {
    std::shared_ptr<const Mixture> mixture;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Reach mixture_at(std::uint64_t slot) const;
  // Returns the slot that draws from `source` after `source` was drawn `count` times. Returns nothing if
  // there is no such slot, because the weight of the source became 0.
  [[nodiscard]] std::optional<std::uint64_t> slot_with(std::uint32_t source, std::uint64_t count) const;

  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> batch_with(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;
  // Returns the cursor (the next slot) after `batches` batches.
  [[nodiscard]] std::uint64_t cursor_after(std::uint64_t batches) const;
};

// Returns a plan with one segment, which begins at `slot`.
[[nodiscard]] Plan begin_plan(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches,
                              std::uint64_t global_batch);

// Returns the value of Segment::asked for a segment that was saved without it. The value is `from` if the
// skipped slots are fewer than a batch. If more slots are skipped, the value is `start`, because the program
// must have asked to skip them.
[[nodiscard]] std::uint64_t usual_asked(const Plan& plan, const Segment& segment);

// Each of the next three functions changes the plan after `batches` batches. If the plan is changed several
// times in the same way without a batch between the changes, only the last change counts. These functions
// throw std::invalid_argument if the changed plan is invalid, and Failure if it has more than kSegmentsMax
// segments.
[[nodiscard]] Plan with_global_batch(Plan plan, std::uint64_t batches, std::uint64_t global_batch);
[[nodiscard]] Plan with_weights(Plan plan, std::uint64_t batches, std::vector<std::uint32_t> weights);
[[nodiscard]] Plan with_skip(Plan plan, std::uint64_t batches, std::uint64_t slot);

// Returns, for each source, how many samples were drawn from it in the slots before `slot`, including skipped
// slots.
[[nodiscard]] std::vector<std::uint64_t> counts_before(const Plan& plan, std::uint64_t slot);
// Returns, for each source, how many of its samples before the cursor after `batches` batches are in no
// batch.
[[nodiscard]] std::vector<std::uint64_t> skipped_before(const Plan& plan, std::uint64_t batches);

}  // namespace ratoon::data
