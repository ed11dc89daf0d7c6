#include "agent/src/preemption/drain_facts.h"

#include <algorithm>
#include <chrono>

namespace ratoon::preemption {
namespace {

constexpr auto kExpectedWriteTimeMax = std::chrono::minutes(30);

double bytes_per_second(std::uint64_t bytes, Duration took) {
  return took > Duration(0) ? static_cast<double>(bytes) / seconds(took) : 0;
}

// If this process has not saved yet and there is time for only one save, plan_drain() plans the save without
// delay. If a replacement process may join, plan_with_one_save() plans the save as late as possible instead,
// because the hand-over to the replacement makes a save, too. An earlier save would delay the save at the
// hand-over, because both saves would use the disk.
DrainPlan plan_with_one_save(DrainFacts facts, bool can_be_replaced) {
  DrainPlan plan = plan_drain(facts);
  const auto saves = std::ranges::count(plan.stages, DrainAction::kFullSave, &DrainStage::act);
  const bool is_measured = facts.disk_bytes_per_second > 0;
  if (!can_be_replaced || facts.has_saved || !is_measured || saves != 1) return plan;
  facts.has_saved = true;
  return plan_drain(facts);
}

}  // namespace

Duration RecentMaximum::longest() const {
  return *std::max_element(recent_.begin(), recent_.end());
}

DrainFacts SaveSpeeds::facts(Duration left, bool has_saved) const {
  return {.left = left,
          .state_bytes = state_bytes_,
          .staged_bytes = has_staging_ ? state_bytes_ : 0,
          .copy_bytes_per_second = bytes_per_second(state_bytes_, stalls_.longest()),
          // The commit time is 0, because the measured time of a write already includes the commit.
          .disk_bytes_per_second = bytes_per_second(state_bytes_, commit_durations_.longest()),
          .step = steps_.longest(),
          .commit = Duration(0),
          .has_saved = has_saved};
}

Duration SaveSpeeds::expected_time_until_durable() const {
  const Duration longest = commit_durations_.longest();
  if (longest > Duration(0)) return longest;
  const double expected_seconds = static_cast<double>(state_bytes_) / kAssumedDiskBytesPerSecond;
  return std::min<Duration>(from_seconds(expected_seconds), kExpectedWriteTimeMax);
}

DrainStep decide_drain_step(const DrainFacts& facts, bool can_be_replaced) {
  const DrainPlan plan = plan_with_one_save(facts, can_be_replaced);
  // A process that will be replaced ends at plan.leave, a safety margin before its deadline, even if one more
  // save might end in time.
  const auto may_wait = [&](const DrainStage& stage) {
    return plan.leave > Duration(0) && stage.end <= plan.leave;
  };
  const auto is_save = [&](const DrainStage& stage) {
    return stage.act == DrainAction::kFullSave ||
           (stage.act == DrainAction::kTrySave && (!can_be_replaced || may_wait(stage)));
  };
  const auto next = std::find_if(plan.stages.begin(), plan.stages.end(), is_save);
  if (plan.leave <= Duration(0) && next == plan.stages.end()) {
    // If this process ends before its checkpoint file is written, the checkpoint of all ranks is lost.
    // Until its checkpoint file is written, this process stays, and begins only steps that end before the
    // deadline.
    const Duration at_the_next = facts.left - facts.step;
    const bool may_stay = facts.staged_bytes > 0 && at_the_next > std::max(facts.margin, Duration(0)) / 2;
    return may_stay ? DrainStep::kTrainOn : DrainStep::kLeave;
  }
  // If the time until the next save is longer than the longest recent step, one more step fits before the
  // save.
  if (next == plan.stages.end() || next->begin > facts.step) return DrainStep::kTrainOn;
  const bool is_last =
      facts.has_saved || std::find_if(next + 1, plan.stages.end(), is_save) == plan.stages.end();
  return is_last && !can_be_replaced ? DrainStep::kSaveAndLeave : DrainStep::kSave;
}

}  // namespace ratoon::preemption
