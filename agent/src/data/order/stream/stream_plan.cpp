#include "agent/src/data/order/stream/stream_plan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::data {
namespace {

// Returns the last segment for which `is_before` returns true. `is_before` must return true for some number
// of segments at the beginning of the list, and false for all later ones.
template <class Predicate>
const Segment& last_segment_where(const Plan& plan, Predicate is_before) {
  const auto after = std::partition_point(plan.segments.begin() + 1, plan.segments.end(), is_before);
  return *(after - 1);
}

void append_segment(Plan& plan, Segment segment) {
  if (plan.segments.size() >= kSegmentsMax) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  "the plan of the sample stream was changed " + std::to_string(kSegmentsMax - 1) +
                      " times, and its state has no room for more changes: make fewer, larger changes");
  }
  plan.segments.push_back(std::move(segment));
}

// Returns a new segment that begins after `batches` batches and has the batch size and mixture of the last
// segment. `batches` must be at least the number of batches before the last segment.
Segment make_next_segment(const Plan& plan, std::uint64_t batches) {
  Segment segment = plan.last_segment();
  segment.previous_end = plan.cursor_after(batches);
  segment.start = segment.previous_end;
  segment.requested_start = segment.previous_end;
  segment.first_batch = batches;
  return segment;
}

// Returns true if the last segment skips nothing and has the same batch size and mixture as the segment
// before it.
bool is_last_segment_redundant(const Plan& plan) {
  if (plan.segments.size() == 1) return false;
  const Segment& last = plan.last_segment();
  const Segment& before = *(plan.segments.end() - 2);
  return last.requested_start == last.previous_end && last.start == last.previous_end &&
         last.global_batch == before.global_batch && last.mixture == before.mixture;
}

}  // namespace

BatchRule Plan::batch_rule(const Segment& segment) const {
  return {.epoch_end = recipe->epoch_end,
          .epoch_slots = epoch_slots(*recipe),
          .global_batch = segment.global_batch};
}

Plan::MixtureRange Plan::mixture_at(std::uint64_t slot) const {
  const auto after = std::partition_point(segments.begin() + 1, segments.end(),
                                          [&](const Segment& s) { return s.mixture->origin <= slot; });
  return {
      .mixture = (after - 1)->mixture,
      .end = after == segments.end() ? std::numeric_limits<std::uint64_t>::max() : after->mixture->origin};
}

std::optional<std::uint64_t> Plan::slot_of_draw(std::uint32_t source, std::uint64_t count) const {
  if (!recipe->is_mixture()) return count;
  const Segment& in = last_segment_where(
      *this, [&](const Segment& s) { return s.mixture->draws_before_first_slot[source] <= count; });
  const std::uint32_t weight = in.mixture->weights[source];
  if (weight == 0) return std::nullopt;
  const std::uint64_t number = (count - in.mixture->draws_before_first_slot[source]) / weight;
  if (number > kSlotsMax / kMixtureBlockSlots) return std::nullopt;
  const MixtureBlock block(in.mixture, recipe->seed, number);
  return block.start() + block.find_draw(source, count);
}

SlotRange Plan::batch(std::uint64_t number) const {
  if (number < segments.front().first_batch)
    throw std::out_of_range("the slots of batch " + std::to_string(number) +
                            " are not known: the stream begins with batch " +
                            std::to_string(segments.front().first_batch));
  const Segment& in = last_segment_where(*this, [&](const Segment& s) { return s.first_batch <= number; });
  const BatchRule cut = batch_rule(in);
  return cut.batch_at(cut.start_after_batches(in.start, number - in.first_batch));
}

std::uint64_t Plan::cursor_after(std::uint64_t batches) const {
  return batch_rule(last_segment())
      .start_after_batches(last_segment().start, batches - last_segment().first_batch);
}

std::optional<std::uint64_t> Plan::batch_containing(std::uint64_t slot) const {
  if (slot < segments.front().start) return std::nullopt;
  // A segment without batches ends at the slot where it starts, so it contains no slot.
  const Segment& in = last_segment_where(*this, [&](const Segment& s) { return s.start <= slot; });
  const bool is_skipped = &in != &last_segment() && slot >= (&in + 1)->previous_end;
  if (is_skipped) return std::nullopt;
  const BatchRule cut = batch_rule(in);
  const std::uint64_t number = cut.batches_up_to(in.start, slot + 1) - 1;
  if (slot >= cut.batch_at(cut.start_after_batches(in.start, number)).last) return std::nullopt;  // dropped
  return in.first_batch + number;
}

std::uint64_t Plan::batches_until(std::uint64_t slot) const {
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const Segment& next = segments[i + 1];
    if (slot <= next.previous_end)
      return segments[i].first_batch + batch_rule(segments[i]).batches_up_to(segments[i].start, slot);
  }
  return last_segment().first_batch + batch_rule(last_segment()).batches_up_to(last_segment().start, slot);
}

Plan begin_plan(std::shared_ptr<const Recipe> recipe, std::uint64_t slot, std::uint64_t batches,
                std::uint64_t global_batch) {
  Plan plan{.recipe = std::move(recipe), .segments = {}, .first_known_slot = 0};
  Segment first{
      .requested_start = slot, .first_batch = batches, .global_batch = global_batch, .mixture = nullptr};
  first.start = plan.batch_rule(first).next_batch_start(slot);
  first.previous_end = first.start;
  if (plan.recipe->is_mixture()) {
    first.mixture = std::make_shared<const Mixture>(
        Mixture{.origin = 0,
                .weights = plan.recipe->weights,
                .draws_before_first_slot = std::vector<std::uint64_t>(plan.recipe->sources.size(), 0)});
  }
  plan.segments.push_back(std::move(first));
  return plan;
}

std::uint64_t default_requested_start(const Plan& plan, const Segment& segment) {
  return plan.batch_rule(segment).next_batch_start(segment.previous_end) == segment.start
             ? segment.previous_end
             : segment.start;
}

Plan with_global_batch(Plan plan, std::uint64_t batches, std::uint64_t global_batch) {
  if (!can_make_batches(*plan.recipe, global_batch))
    throw std::invalid_argument("a global batch of " + std::to_string(global_batch) +
                                " gives no batches: it must be 1 to 2^28 and, if incomplete batches are "
                                "dropped, at most the samples of an epoch");
  if (global_batch == plan.last_segment().global_batch) return plan;
  if (plan.last_segment().first_batch != batches) append_segment(plan, make_next_segment(plan, batches));
  Segment& changed = plan.segments.back();
  changed.global_batch = global_batch;
  changed.start = plan.batch_rule(changed).next_batch_start(changed.requested_start);
  if (plan.segments.size() == 1) {  // there is nothing before it to skip
    changed.previous_end = changed.start;
    if (plan.first_known_slot != 0) plan.first_known_slot = changed.start;
  }
  if (is_last_segment_redundant(plan)) plan.segments.pop_back();
  return plan;
}

Plan with_weights(Plan plan, std::uint64_t batches, std::vector<std::uint32_t> weights) {
  if (!plan.recipe->is_mixture() || weights == plan.last_segment().mixture->weights) return plan;
  if (plan.last_segment().first_batch != batches) append_segment(plan, make_next_segment(plan, batches));
  Segment& changed = plan.segments.back();
  Mixture mixture{.origin = 0, .weights = std::move(weights), .draws_before_first_slot = {}};
  if (plan.segments.size() == 1) {
    mixture.draws_before_first_slot.assign(mixture.weights.size(), 0);
  } else {
    mixture.origin = changed.start;
    mixture.draws_before_first_slot = source_draws_before(plan, changed.start);
  }
  changed.mixture = std::make_shared<const Mixture>(std::move(mixture));
  return plan;
}

Plan with_skip(Plan plan, std::uint64_t batches, std::uint64_t slot) {
  const std::uint64_t cursor = plan.cursor_after(batches);
  if (slot < cursor)
    throw std::invalid_argument("slot " + std::to_string(slot) + " is before the cursor at " +
                                std::to_string(cursor));
  if (slot > kSlotsMax) throw std::invalid_argument("a stream has at most 2^62 slots");
  if (slot == cursor) return plan;
  // Skipping slots begins a new segment, even if the segment before it contains no batch.
  append_segment(plan, make_next_segment(plan, batches));
  plan.segments.back().requested_start = slot;
  plan.segments.back().start = plan.batch_rule(plan.last_segment()).next_batch_start(slot);
  return plan;
}

std::vector<std::uint64_t> source_draws_before(const Plan& plan, std::uint64_t slot) {
  if (!plan.recipe->is_mixture()) return {slot};
  // The number of draws before a slot is the sum of the draws before its mixture began and the draws of the
  // mixture itself before the slot. If a new mixture begins exactly at `slot`, the counts come from the
  // mixture before the new one.
  const std::shared_ptr<const Mixture> mixture = plan.mixture_at(slot).mixture;
  const std::uint64_t draws = slot - mixture->origin;
  return MixtureBlock(mixture, plan.recipe->seed, draws / kMixtureBlockSlots)
      .draw_counts_before(draws % kMixtureBlockSlots);
}

std::vector<std::uint64_t> skipped_samples_before(const Plan& plan, std::uint64_t batches) {
  std::vector<std::uint64_t> skipped(plan.recipe->sources.size(), 0);
  if (plan.recipe->epoch_end == EpochEnd::kDrop) {  // a single source: slots outside full batches are skipped
    const Segment& first = plan.segments.front();
    std::uint64_t taken = first.start;
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
      const std::uint64_t end = i + 1 < plan.segments.size() ? plan.segments[i + 1].first_batch : batches;
      taken += (end - plan.segments[i].first_batch) * plan.segments[i].global_batch;
    }
    skipped[0] = plan.cursor_after(batches) - taken;
    return skipped;
  }
  for (const Segment& segment : plan.segments) {
    if (segment.previous_end == segment.start) continue;
    const std::vector<std::uint64_t> from = source_draws_before(plan, segment.previous_end);
    const std::vector<std::uint64_t> to = source_draws_before(plan, segment.start);
    for (std::size_t i = 0; i < skipped.size(); ++i) skipped[i] += to[i] - from[i];
  }
  return skipped;
}

}  // namespace ratoon::data
