#include "operator/core/world/fresh_start.h"

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "operator/core/status/progress.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::fresh_start_test {
namespace {

using test::checkpoint;
using test::process;

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

// Both members wait for the first world, and attempts 1 to 7 of another job left checkpoints.
Observation first_world() {
  Observation seen = test::running(test::job(2));
  seen.job.spec.checkpoint_policy.overwrites = true;
  seen.job.status.is_world_formed = false;
  seen.job.status.first_own_attempt = Attempt(0);
  seen.world.clear();
  seen.processes = {test::waiting(process(0), 7, {checkpoint(7, 300)}),
                    test::waiting(process(1), 7, {checkpoint(7, 300)})};
  return seen;
}

std::optional<ResumePoint> resume_of(const Decision& decision) {
  EXPECT_FALSE(decision.announcement.world.empty());
  return decision.announcement.world.empty() ? std::nullopt
                                             : decision.announcement.world.front().assignment.resume;
}

TEST(FreshStart, TheRequestIsNotedAtTheFirstLookAlone) {
  Observation seen{.job = test::new_job(2)};
  EXPECT_EQ(decide(seen).status.first_own_attempt, std::nullopt);
  seen.job.spec.checkpoint_policy.overwrites = true;
  EXPECT_EQ(decide(seen).status.first_own_attempt, Attempt(0));
  Observation later = test::running(test::job(2));
  later.job.spec.checkpoint_policy.overwrites = true;
  EXPECT_EQ(decide(later).status.first_own_attempt, std::nullopt) << "it trains already";
}

TEST(FreshStart, TheFirstWorldResumesNothing) {
  const auto decision = decide(first_world());
  EXPECT_EQ(resume_of(decision), std::nullopt);
  EXPECT_EQ(decision.status.attempt, Attempt(8)) << "no name is used twice";
  EXPECT_EQ(decision.status.first_own_attempt, Attempt(8));
  EXPECT_EQ(decision.status.step, Step(0));
}

TEST(FreshStart, WithoutTheRequestItGoesOn) {
  auto seen = first_world();
  seen.job.status.first_own_attempt.reset();
  EXPECT_EQ(resume_of(decide(seen)), test::resume_point(7, 300));
}

TEST(FreshStart, ALaterWorldTakesItsOwnCheckpointsAndNoOthers) {
  auto seen = first_world();
  seen.job.status.attempt = Attempt(9);
  seen.job.status.first_own_attempt = Attempt(8);
  EXPECT_EQ(resume_of(decide(seen)), std::nullopt) << "lost before its first checkpoint";
  for (auto& facts : seen.processes) facts.join_request->inventory.push_back(checkpoint(8, 20));
  EXPECT_EQ(resume_of(decide(seen)), test::resume_point(8, 20));
  EXPECT_EQ(decide(seen).status.first_own_attempt, Attempt(8)) << "it began where it began";
}

TEST(FreshStart, AnothersCheckpointIsNoProgress) {
  api::TrainingJobStatus status = test::job(1).status;
  auto facts = test::heard(process(0));
  facts.beat = test::beat(process(0), 1, 3, 1, checkpoint(1, 3));
  status.first_own_attempt = Attempt(2);
  note_progress({facts}, status);
  EXPECT_EQ(status.last_checkpoint, std::nullopt);
  status.first_own_attempt = Attempt(1);
  note_progress({facts}, status);
  EXPECT_EQ(status.last_checkpoint, test::resume_point(1, 3));
}

}  // namespace
}  // namespace ratoon::core::fresh_start_test
