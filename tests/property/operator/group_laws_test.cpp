// The laws of jobs without the agent, over thousands of small worlds with faults. A failure names its seed,
// and RATOON_SEED=1234 group_laws_test repeats it.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/property/operator/environment.h"
#include "tests/property/operator/simulated_group.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::group_laws_test {
namespace {

constexpr int kChaosTicks = 150;
constexpr int kCalmTicksMax = 900;

class GroupStory {
 public:
  explicit GroupStory(std::uint64_t seed) : world_(seed) {}

  void live() {
    for (int tick = 0; tick < kChaosTicks && !is_over(); ++tick) pass(true);
    for (int tick = 0; tick < kCalmTicksMax && !is_over(); ++tick) pass(false);
    ASSERT_EQ(status().phase, api::JobPhase::kSucceeded) << status().message << "\n" << world_.describe();
    EXPECT_TRUE(world_.is_trained()) << "over before its end";
    for (const auto& member : status().members) EXPECT_TRUE(member.is_completed);
    EXPECT_LE(status().restarts.application, world_.own_failures()) << "a peer of somebody lost was blamed";
  }

  [[nodiscard]] const api::TrainingJobStatus& status() const { return world_.job().status; }

 private:
  [[nodiscard]] bool is_over() const {
    return testing::Test::HasFailure() || status().completed_at.has_value();
  }

  void pass(bool is_chaos) {
    world_.advance(is_chaos);
    EXPECT_EQ(world_.broken(), "") << world_.describe();
    if (is_chaos && world_.dice().percent(3)) world_.end_operator();
    if (is_chaos && world_.dice().percent(20)) return;  // it is busy with something else, or down
    const auto before = status();
    const auto decision = core::reconcile(world_.observe(), world_.now());
    check_counters(before, decision.status);
    world_.carry_out(decision, is_chaos);
    if (!is_chaos) check_rest();
  }

  static void check_counters(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
    EXPECT_GE(after.attempt, before.attempt);
    EXPECT_GE(after.restarts.disruption, before.restarts.disruption);
    const bool stood = before.is_world_formed && after.is_world_formed && after.attempt == before.attempt;
    for (std::size_t i = 0; i < before.members.size(); ++i) {
      EXPECT_GE(after.members[i].incarnation, before.members[i].incarnation);
      const bool is_made_anew = after.members[i].incarnation != before.members[i].incarnation;
      EXPECT_FALSE(stood && is_made_anew) << "made anew alone";
    }
  }

  // Each decision is followed by an observation of the pods that it made, and then by no further action.
  void check_rest() {
    for (int look = 0; look < 2; ++look)
      world_.carry_out(core::reconcile(world_.observe(), world_.now()), false);
    const auto seen = world_.observe();
    const auto again = core::reconcile(seen, world_.now());
    EXPECT_TRUE(again.actions.empty()) << world_.describe();
    EXPECT_EQ(again.status, seen.job.status) << world_.describe();
    if (!again.wake_at || *again.wake_at <= world_.now()) return;
    auto later = seen;
    const Duration almost = *again.wake_at - world_.now() - std::chrono::milliseconds(1);
    later.wall_now = {seen.wall_now.since_epoch + almost};
    const auto early = core::reconcile(later, world_.now() + almost);
    EXPECT_TRUE(early.actions.empty() && early.status == seen.job.status) << "something was due earlier";
  }

  GroupWorld world_;
};

TEST(GroupLaws, HoldInEveryWorldWithFaults) {
  const Seeds all = seeds_of_this_run(test::afforded(3000), "group_laws_test");
  const std::uint64_t seeds = all.count();
  std::uint64_t restarts = 0;
  std::uint64_t failures = 0;
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    GroupStory story(seed);
    story.live();
    if (HasFailure()) return;
    restarts += story.status().restarts.disruption;
    failures += story.status().restarts.application;
  }
  std::cout << seeds << " worlds, " << restarts << " losses, " << failures << " failures\n";
  if (all.count() < kEnoughToCount) return;
  EXPECT_GE(restarts, seeds) << "few members were ever lost: look at make_trouble()";
  EXPECT_GE(failures, seeds / 20) << "few programs ever failed";
}

}  // namespace
}  // namespace ratoon::sim::group_laws_test
