#include "agent/src/preemption/drain_plan.h"

#include <algorithm>
#include <cmath>

namespace ratoon::preemption {
namespace {

Duration transfer_time_of(std::uint64_t bytes, double measured, double assumed) {
  const bool is_measured = std::isfinite(measured) && measured > 0;
  return from_seconds(static_cast<double>(bytes) / (is_measured ? measured : assumed));
}

// SaveTimes has two durations: `flush` is the time until a write of the staged copy is committed, and `full`
// is the time until a full save is committed.
struct SaveTimes {
  Duration flush{0};
  Duration full{0};
};

// Each duration in a sum is limited to kDurationMax, so that the sum does not overflow a Duration.
constexpr Duration kDurationMax = std::chrono::hours(24 * 365);

SaveTimes save_times_of(const DrainFacts& facts, double pessimism) {
  const auto bounded = [](Duration d) { return std::clamp(d, Duration(0), kDurationMax); };
  const auto slower = [&](Duration d) { return bounded(from_seconds(pessimism * seconds(bounded(d)))); };
  const Duration commit = bounded(facts.commit);
  const auto write = [&](std::uint64_t bytes) {
    return slower(transfer_time_of(bytes, facts.disk_bytes_per_second, kAssumedDiskBytesPerSecond));
  };
  const Duration copy =
      slower(transfer_time_of(facts.state_bytes, facts.copy_bytes_per_second, kAssumedCopyBytesPerSecond));
  return {.flush = write(facts.staged_bytes) + commit,
          .full = bounded(facts.step) + copy + write(facts.state_bytes) + commit};
}

}  // namespace

Duration margin_of(Duration notice) {
  return std::clamp(notice / 4, Duration(0), kDeadlineMargin);
}

DrainPlan plan_drain(const DrainFacts& facts) {
  const SaveTimes needs = save_times_of(facts, kDiskSlowdownFactor);
  const Duration margin = std::max(facts.margin, Duration(0));
  const Duration usable = std::max(facts.left - margin, Duration(0));
  DrainPlan plan{.stages = {}, .leave = usable};
  const auto add = [&](DrainAction act, Duration begin, Duration takes) {
    plan.stages.push_back({.act = act, .begin = begin, .end = begin + takes});
    return begin + takes;
  };
  const bool is_staged = facts.staged_bytes > 0;
  // A full save has a newer state than the staged copy, which was made at an earlier save. If there is time
  // for only one of the two, the plan chooses the full save.
  const bool fits_full = usable > Duration(0) && needs.full <= usable;
  const bool flushes = is_staged && needs.flush + (fits_full ? needs.full : Duration(0)) <= usable;
  Duration busy{0};
  if (flushes) busy = add(DrainAction::kFlushStaged, busy, needs.flush);
  if (!fits_full) {
    const SaveTimes measured = save_times_of(facts, 1);
    const Duration begin = is_staged ? measured.flush : Duration(0);
    if (begin + measured.full <= facts.left - margin / 2) add(DrainAction::kTrySave, begin, measured.full);
    return plan;
  }
  if (!facts.has_saved) busy = add(DrainAction::kFullSave, busy, needs.full);
  // Adds a last full save at the latest possible time. Training continues until the last save.
  const Duration last = usable - needs.full;
  const bool brings_steps = facts.has_saved || last > busy;
  if (brings_steps) add(DrainAction::kFullSave, last, needs.full);
  return plan;
}

}  // namespace ratoon::preemption
