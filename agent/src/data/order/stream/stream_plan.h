// data/order/stream/: Implements Stream: computes the plan of its batches, saves and loads its state, and
// checks which options may change when a run resumes. The code does no I/O.
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
  std::uint64_t previous_end = 0;  // the cursor at the change: the previous segment ends there
  std::uint64_t start = 0;         // the segment's first slot; slots from `previous_end` to it are skipped
  // `requested_start` is the slot at which the segment was requested to begin: `previous_end`, unless the
  // program asked to skip to a later slot. `start` is the first slot at or after `requested_start` at which a
  // batch may begin. If the size of the global batch changes, `start` is computed from `requested_start`
  // again.
  std::uint64_t requested_start = 0;
  std::uint64_t first_batch = 0;  // the number of batches before this segment
  std::uint64_t global_batch = 0;
  std::shared_ptr<const Mixture>
      mixture;  // null with one source; shared with the previous segment unless the weights changed
};

struct Plan {
  std::shared_ptr<const Recipe> recipe;
  std::vector<Segment> segments;       // never empty
  std::uint64_t first_known_slot = 0;  // earlier slots belong to another recipe

  [[nodiscard]] const Segment& last_segment() const { return segments.back(); }
  [[nodiscard]] BatchRule batch_rule(const Segment& segment) const;
  // A MixtureRange is the mixture (weights of the sources) that applies to a slot, and the slot at which the
  // next mixture begins. Call mixture_at() only if there are several sources.
  struct MixtureRange {
    std::shared_ptr<const Mixture> mixture;
    std::uint64_t end = 0;
  };
  [[nodiscard]] MixtureRange mixture_at(std::uint64_t slot) const;
  // Returns the slot of the next draw from `source` after `source` was drawn `count` times. Returns nothing
  // if the weight of `source` becomes 0 before that draw.
  [[nodiscard]] std::optional<std::uint64_t> slot_of_draw(std::uint32_t source, std::uint64_t count) const;

  [[nodiscard]] SlotRange batch(std::uint64_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> batch_containing(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t batches_until(std::uint64_t slot) const;
  // Returns the cursor (the next slot) after `batches` batches.
  [[nodiscard]] std::uint64_t cursor_after(std::uint64_t batches) const;
};

// Returns a plan with one segment, which begins at `slot`.
[[nodiscard]] Plan begin_plan(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches,
                              std::uint64_t global_batch);

// Returns the default of Segment::requested_start, for a segment that was saved without this member. The
// default is `previous_end` if no whole batch was skipped. Otherwise the default is `start`, because only a
// request of the program skips a whole batch or more.
[[nodiscard]] std::uint64_t default_requested_start(const Plan& plan, const Segment& segment);

// with_global_batch(), with_weights() and with_skip() change the plan after `batches` batches. If one of
// these functions changes the plan several times after the same number of batches, only its last change has
// an effect. The functions throw std::invalid_argument if the changed plan is invalid, and Failure if it has
// more than kSegmentsMax segments.
[[nodiscard]] Plan with_global_batch(Plan plan, std::uint64_t batches, std::uint64_t global_batch);
[[nodiscard]] Plan with_weights(Plan plan, std::uint64_t batches, std::vector<std::uint32_t> weights);
[[nodiscard]] Plan with_skip(Plan plan, std::uint64_t batches, std::uint64_t slot);

// Returns, for each source, how many samples were drawn from it in the slots before `slot`, including skipped
// slots.
[[nodiscard]] std::vector<std::uint64_t> source_draws_before(const Plan& plan, std::uint64_t slot);
// Returns, for each source, how many of its samples the stream has skipped when `batches` batches are
// trained.
[[nodiscard]] std::vector<std::uint64_t> skipped_samples_before(const Plan& plan, std::uint64_t batches);

}  // namespace ratoon::data
