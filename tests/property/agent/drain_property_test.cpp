// Laws about the saves before a node goes, on random cases.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/src/preemption/drain_plan.h"

namespace ratoon::preemption::drain_property_test {
namespace {

namespace gen = rc::gen;
using std::chrono::milliseconds;

Duration any_time(int milliseconds_max) {
  return milliseconds(*gen::inRange(0, milliseconds_max));
}

DrainFacts any_facts() {
  return {.left = any_time(150'000),
          .margin = any_time(4'000),
          .state_bytes = *gen::inRange<std::uint64_t>(0, 20'000'000'000),
          .staged_bytes = *gen::element<std::uint64_t>(0, 0, 1'000'000, 3'000'000'000),
          .copy_bytes_per_second = *gen::element(0.0, 1e9, 5e9),
          .disk_bytes_per_second = *gen::element(0.0, 1e8, 1e9, 3e9),
          .step = any_time(5'000),
          .commit = any_time(1'000),
          .has_saved = *gen::arbitrary<bool>()};
}

DrainPlan without_attempts(DrainPlan plan) {
  std::erase_if(plan.stages, [](const DrainStage& stage) { return stage.act == DrainAction::kTrySave; });
  return plan;
}

RC_GTEST_PROP(DrainPlan, StagesFollowEachOtherAndEndInTime, ()) {
  const DrainFacts facts = any_facts();
  const DrainPlan plan = without_attempts(plan_drain(facts));
  RC_ASSERT(plan.leave == std::max(facts.left - facts.margin, Duration(0)));
  RC_ASSERT(plan.stages.size() <= 3);
  Duration busy{0};
  for (const DrainStage& stage : plan.stages) {
    RC_ASSERT(stage.begin >= busy);
    RC_ASSERT(stage.end >= stage.begin);
    busy = stage.end;
  }
  RC_ASSERT(busy <= plan.leave);
}

// A save that is only tried is the last action, ends within half of the margin, and comes only if no safer
// save fits.
RC_GTEST_PROP(DrainPlan, ASaveIsTriedOnlyWhereNoneIsSure, ()) {
  const DrainFacts facts = any_facts();
  const DrainPlan plan = plan_drain(facts);
  for (const DrainStage& stage : plan.stages) {
    if (stage.act != DrainAction::kTrySave) continue;
    RC_ASSERT(&stage == &plan.stages.back());
    RC_ASSERT(stage.end <= facts.left - facts.margin / 2);
    RC_ASSERT(without_attempts(plan).stages.size() <= 1);
    RC_ASSERT(plan.stages.front().act != DrainAction::kFullSave);
  }
}

RC_GTEST_PROP(DrainPlan, MoreTimeNeverSavesLess, ()) {
  DrainFacts facts = any_facts();
  const auto saves = [](const DrainPlan& plan) {
    return std::count_if(plan.stages.begin(), plan.stages.end(),
                         [](const DrainStage& stage) { return stage.act == DrainAction::kFullSave; });
  };
  const DrainPlan before = plan_drain(facts);
  facts.left += any_time(60'000);
  const DrainPlan after = plan_drain(facts);
  // Once all fits, staged data is written first; then a second save may wait for it.
  RC_ASSERT((saves(after) > 0) >= (saves(before) > 0));
  RC_ASSERT(after.stages.empty() <= before.stages.empty());
}

// A process that asks after every step, and does the due work, ends everything in time while the machine is
// at least as fast as assumed, and makes a save if there was time for one.
RC_GTEST_PROP(DrainPlan, AskedAgainAfterEveryStepItEndsWhatItBegins, ()) {
  DrainFacts facts = any_facts();
  facts.step = std::max<Duration>(facts.step, milliseconds(50));
  const Duration end = facts.left;
  const bool could_save = !without_attempts(plan_drain(facts)).stages.empty();
  Duration now{0};
  int begun = 0;
  while (true) {
    facts.left = end - now;
    const DrainPlan plan = without_attempts(plan_drain(facts));
    if (plan.leave == Duration(0)) break;
    // A save is due when waiting for one more step would be too late.
    const bool is_due = !plan.stages.empty() && plan.stages.front().begin < facts.step;
    if (!is_due) {
      now += facts.step * *gen::inRange(50, 101) / 100;
      continue;
    }
    const DrainStage stage = plan.stages.front();
    ++begun;
    now += (stage.end - stage.begin) * *gen::inRange(30, 101) / 100;
    RC_ASSERT(now <= end - facts.margin);
    facts.staged_bytes = 0;
    if (stage.act == DrainAction::kFlushStaged) continue;
    if (facts.has_saved) break;
    facts.has_saved = true;
  }
  RC_ASSERT((begun > 0) == could_save);
}

}  // namespace
}  // namespace ratoon::preemption::drain_property_test
