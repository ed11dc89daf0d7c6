#include "agent/src/session/locations/rollback_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/contract/resume_point.h"

namespace ratoon::session::rollback_plan_test {
namespace {

using checkpoint::CheckpointId;
using checkpoint::Inventory;
using checkpoint::Rollback;
using testing::ElementsAre;

CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}
Inventory with(const std::vector<CheckpointId>& newest_first, std::vector<Rollback> rollbacks = {}) {
  Inventory found{.rollbacks = std::move(rollbacks)};
  for (const auto& one : newest_first) found.complete.push_back(checkpoint::entry_of(one, "d", true));
  return found;
}
Options wish(std::uint64_t step, std::uint64_t skip = 0) {
  Options options;
  options.resume_from = step;
  options.skip = skip;
  return options;
}

TEST(RollbackPlan, WithoutTheFlagNothingIsNarrowed) {
  const Rollback made{.attempt = Attempt(2), .to = id(1, 10)};
  const auto plan = plan_rollback({}, with({id(2, 20), id(1, 10)}, {made})).value();
  EXPECT_EQ(plan, (RollbackPlan{.earlier_rollbacks = {made}}));
  EXPECT_EQ(restrict_to_plan(with({id(2, 20), id(1, 10)}), plan).complete.size(), 2u);
}

TEST(RollbackPlan, TheNewestOfThatStepIsTheOnlyOneThatMayBePicked) {
  const auto found = with({id(3, 40), id(3, 30), id(2, 30), id(2, 20)});
  const auto plan = plan_rollback(wish(30, 5), found).value();
  EXPECT_EQ(plan.to, id(3, 30));
  const auto left = restrict_to_plan(found, plan);
  ASSERT_EQ(left.complete.size(), 1u);
  EXPECT_EQ(checkpoint::id_of(left.complete.front()), id(3, 30));
  std::vector<CheckpointId> given_up;
  for (const auto& entry : left.given_up) {
    given_up.push_back(checkpoint::id_of(entry));
    EXPECT_EQ(entry.digest, kAbandonedDigest);
    EXPECT_FALSE(entry.is_complete);
  }
  EXPECT_THAT(given_up, ElementsAre(id(3, 40), id(2, 30), id(2, 20)));
}

TEST(RollbackPlan, IsMadeOnceForAStepAndASkip) {
  const Rollback made{.attempt = Attempt(4), .to = id(3, 30), .skip = 5, .skip_to = 65};
  const auto found = with({id(4, 40), id(3, 30)}, {made});
  const auto again = plan_rollback(wish(30, 5), found).value();
  EXPECT_EQ(again.existing_rollback, made);
  EXPECT_EQ(again.to, std::nullopt);
  EXPECT_EQ(plan_rollback(wish(30, 6), found)->to, id(3, 30)) << "another skip is another rollback";
  EXPECT_EQ(plan_rollback(wish(40, 5), found)->to, id(4, 40)) << "and so is another step";
}

TEST(RollbackPlan, OneThatWasTakenBackMayBeMadeAgain) {
  const Rollback made{.attempt = Attempt(4), .to = id(3, 30), .skip = 5, .skip_to = 65};
  const Rollback before{.attempt = Attempt(6), .to = id(3, 20)};
  const auto plan = plan_rollback(wish(30, 5), with({id(6, 30), id(3, 20)}, {made, before})).value();
  EXPECT_EQ(plan.existing_rollback, std::nullopt);
  EXPECT_EQ(plan.to, id(6, 30));
  const Rollback next{.attempt = Attempt(7), .to = id(6, 30), .skip = 5, .skip_to = 80};
  EXPECT_THAT(append_rollback(plan, next), ElementsAre(before, next));
}

TEST(RollbackPlan, SaysWhichStepsThereAre) {
  const auto none = plan_rollback(wish(25), with({id(2, 20), id(1, 100), id(1, 30), id(1, 20)}));
  ASSERT_FALSE(none);
  EXPECT_EQ(
      none.error().message(),
      "--resume-from 25: the run has no checkpoint of that step that can be read; there are steps 20 30 100");
  EXPECT_EQ(
      plan_rollback(wish(25), {}).error().message(),
      "--resume-from 25: the run has no checkpoint of that step that can be read; the run has no checkpoint");
  std::vector<CheckpointId> many;
  for (std::uint64_t step = 40; step > 0; --step) many.push_back(id(1, step * 10));
  EXPECT_THAT(
      plan_rollback(wish(25), with(many)).error().message(),
      testing::EndsWith("the run has, among others, steps 210 220 230 240 250 260 270 280 290 300 310 320 "
                        "330 340 350 360 370 380 390 400"));
}

TEST(RollbackPlan, FlagsThatMakeNoSenseAreSaid) {
  EXPECT_TRUE(check_rollback(wish(0)));
  Options skip_alone;
  skip_alone.skip = 3;
  EXPECT_EQ(check_rollback(skip_alone).error().message(),
            "--skip needs --resume-from, because it skips the samples after the step of --resume-from");
  EXPECT_EQ(check_rollback(wish(10, (1ULL << 62) + 1)).error().message(),
            "--skip must be at most 2^62, found '4611686018427387905'");
  Options anew = wish(10);
  anew.overwrite = true;
  EXPECT_EQ(check_rollback(anew).error().message(),
            "--resume-from goes back to a step of the run, but --overwrite begins the run again at step 0: "
            "leave one of the two flags out");
  Options nothing = wish(10);
  nothing.autoresume = false;
  EXPECT_EQ(check_rollback(nothing).error().message(),
            "--resume-from goes back to a step of the run, but --autoresume false does not resume the run: "
            "leave one of the two flags out");
}

TEST(RollbackPlan, TheHistorySaysWhatIsPassedOver) {
  const Rollback made{.attempt = Attempt(4), .to = id(3, 30), .skip = 5, .skip_to = 65};
  const auto row = row_of({.rollback = made, .from = 60, .to = 65}, WallTime());
  EXPECT_EQ(row.kind, "rollback");
  EXPECT_EQ(row.step, 30u);
  EXPECT_EQ(row.values,
            (std::map<std::string, double>{{"attempt", 4}, {"skipped_from", 60}, {"skipped_to", 65}}));
  EXPECT_EQ(row_of({.rollback = made}, WallTime()).values, (std::map<std::string, double>{{"attempt", 4}}));
}

}  // namespace
}  // namespace ratoon::session::rollback_plan_test
