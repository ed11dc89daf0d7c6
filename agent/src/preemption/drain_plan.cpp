#include "agent/src/preemption/drain_plan.h"

#include <algorithm>
#include <cmath>

namespace ratoon::preemption {
namespace {

Duration time_of(std::uint64_t bytes, double measured, double assumed) {
  const bool is_measured = std::isfinite(measured) && measured > 0;
  return from_seconds(static_cast<double>(bytes) / (is_measured ? measured : assumed));
}

// The times that a write of the staged copy and a full save take, each from the request to the commit.
struct Needs {
  Duration flush{0};
  Duration full{0};
};

// The upper limit of each duration in a sum, so that the sum does not overflow a Duration.
constexpr Duration kLongest = std::chrono::hours(24 * 365);

Needs needs_of(const DrainFacts& facts, double pessimism) {
  const auto bounded = [](Duration d) { return std::clamp(d, Duration(0), kLongest); };
  const auto slower = [&](Duration d) { return bounded(from_seconds(pessimism * seconds(bounded(d)))); };
  const Duration commit = bounded(facts.commit);
  const auto write = [&](std::uint64_t bytes) {
    return slower(time_of(bytes, facts.disk_bytes_per_second, kAssumedDiskBytesPerSecond));
  };
  const Duration copy =
      slower(time_of(facts.state_bytes, facts.copy_bytes_per_second, kAssumedCopyBytesPerSecond));
  return {.flush = write(facts.staged_bytes) + commit,
          .full = bounded(facts.step) + copy + write(facts.state_bytes) + commit};
}

}  // namespace

Duration margin_of(Duration notice) {
  return std::clamp(notice / 4, Duration(0), kMargin);
}

DrainPlan plan_drain(const DrainFacts& facts) {
  const Needs needs = needs_of(facts, kPessimism);
  const Duration margin = std::max(facts.margin, Duration(0));
  const Duration usable = std::max(facts.left - margin, Duration(0));
  DrainPlan plan{.stages = {}, .leave = usable};
  const auto add = [&](DrainAct act, Duration begin, Duration takes) {
    plan.stages.push_back({.act = act, .begin = begin, .end = begin + takes});
    return begin + takes;
  };
  const bool is_staged = facts.staged_bytes > 0;
  // A full save has a newer state than the staged copy, which was made at an earlier save. If there is time
  // only for the staged copy or for a full save, the plan chooses the full save.
  const bool fits_full = usable > Duration(0) && needs.full <= usable;
  const bool flushes = is_staged && needs.flush + (fits_full ? needs.full : Duration(0)) <= usable;
  Duration busy{0};
  if (flushes) busy = add(DrainAct::kFlushStaged, busy, needs.flush);
  if (!fits_full) {
    const Needs measured = needs_of(facts, 1);
    const Duration begin = is_staged ? measured.flush : Duration(0);
    if (begin + measured.full <= facts.left - margin / 2) add(DrainAct::kTrySave, begin, measured.full);
    return plan;
  }
  if (!facts.has_saved) busy = add(DrainAct::kFullSave, busy, needs.full);
  // Adds a last full save at the latest possible time. Training continues until the last save.
  const Duration last = usable - needs.full;
  const bool brings_steps = facts.has_saved || last > busy;
  if (brings_steps) add(DrainAct::kFullSave, last, needs.full);
  return plan;
}

}  // namespace ratoon::preemption
