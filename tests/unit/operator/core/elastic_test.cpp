#include "operator/core/world/elastic.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "operator/core/world/announce.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::elastic_test {
namespace {

using std::chrono::seconds;
using test::only;
using test::process;
using test::wall;

// All left attempt 1 at second 100 and wait for the next one, except member 2, whose pod is new and silent.
Observation third_is_missing(std::uint32_t members_min = 2) {
  Observation seen = test::running(test::job(3));
  seen.job.spec.elastic_policy = {
      .members_min = members_min, .shrink_after_seconds = 20, .grow_cooldown_seconds = 60};
  seen.job.status.attempt = Attempt(2);
  seen.job.status.is_world_formed = false;
  seen.job.status.world_awaited_since = wall(100);
  seen.world.clear();
  seen.listening_since = test::at_seconds(-3600);
  seen.processes = {test::waiting(process(0), 1), test::waiting(process(1), 1)};
  seen.wall_now = wall(110);
  return seen;
}

std::vector<bool> absent_in(const std::vector<api::MemberStatus>& members) {
  std::vector<bool> absent;
  for (const auto& member : members) absent.push_back(member.is_absent);
  return absent;
}
using Flags = std::vector<bool>;

NextWorldMembers pick(const Observation& seen) {
  return pick_next_world_members(seen, seen.job.status.members, *seen.job.status.world_awaited_since,
                                 test::at_seconds(3600));
}

TEST(PickNextWorldMembers, WaitsForTheMissingAndSaysHowLong) {
  const auto next_world = pick(third_is_missing());
  EXPECT_EQ(absent_in(next_world.members), Flags({false, false, false}));
  EXPECT_EQ(next_world.last_wait_ends_at, wall(120));
}

TEST(PickNextWorldMembers, GoesWithoutTheMissingWhenItsTimeIsUp) {
  auto seen = third_is_missing();
  seen.wall_now = wall(120);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true}));
}

TEST(PickNextWorldMembers, WaitsLongerForOneThatHasSpoken) {
  auto seen = third_is_missing();
  seen.processes.push_back(test::heard(process(2)));
  seen.wall_now = wall(120);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
  EXPECT_EQ(pick(seen).last_wait_ends_at, wall(130));
  EXPECT_EQ(pick(seen).next_wait_ends_at, wall(130));
  seen.wall_now = wall(130);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true}));
}

TEST(PickNextWorldMembers, ANewLeaderWaitsForAMemberThatMayHaveToldOnlyTheFormerOne) {
  auto seen = third_is_missing();
  seen.wall_now = wall(120);
  seen.job.status.members[2].has_been_in_world = true;
  seen.job.spec.disruption_policy.suspect_after_seconds = 5;
  seen.listening_since = test::at_seconds(3598);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
  EXPECT_EQ(pick(seen).last_wait_ends_at, wall(123));
  seen.listening_since = test::at_seconds(3595);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true}));
  seen.listening_since = test::at_seconds(3598);
  std::erase_if(seen.pods, [](const auto& pod) { return pod.uid == test::uid_of(2); });
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true})) << "a member without a pod";
}

TEST(PickNextWorldMembers, GivesTheFirstWorldMoreTime) {
  auto seen = third_is_missing();
  seen.job.status.attempt = Attempt(1);
  EXPECT_EQ(pick(seen).last_wait_ends_at, wall(180));
}

TEST(PickNextWorldMembers, DoesNotWaitForOneThatWasAbsentAlready) {
  auto seen = third_is_missing();
  seen.job.status.members[2].is_absent = true;
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true}));
  EXPECT_EQ(pick(seen).last_wait_ends_at, std::nullopt);
}

TEST(PickNextWorldMembers, TakesBackWhoIsReady) {
  auto seen = third_is_missing();
  seen.job.status.members[2].is_absent = true;
  seen.processes.push_back(test::waiting(process(2)));
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
}

TEST(PickNextWorldMembers, NeverGoesBelowTheSmallestSize) {
  auto seen = third_is_missing(3);
  seen.wall_now = wall(1000);
  seen.job.status.members[2].is_absent = true;
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
}

TEST(PickNextWorldMembers, HasAllOfARoleWithItsOwnNumber) {
  auto seen = third_is_missing(1);
  seen.wall_now = wall(1000);
  seen.job.spec.roles[0].replicas = 3;
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
}

TEST(PickNextWorldMembers, HasAllWhereNothingIsElastic) {
  auto seen = third_is_missing();
  seen.wall_now = wall(1000);
  seen.job.spec.elastic_policy.reset();
  seen.job.status.members[2].is_absent = true;  // of a day when it was
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false}));
}

// Two of three train since second 200; the third member waits.
Observation two_of_three() {
  Observation seen = test::running(test::job(3));
  seen.job.spec.elastic_policy = {.members_min = 2, .shrink_after_seconds = 20, .grow_cooldown_seconds = 60};
  seen.job.status.members[2].is_absent = true;
  seen.job.status.world_size = 2;
  seen.job.status.world_formed_at = wall(200);
  seen.world.pop_back();
  seen.processes[2] = test::waiting(process(2));
  seen.wall_now = wall(250);
  return seen;
}

TEST(FindGrowth, WaitsForTheCooldown) {
  auto seen = two_of_three();
  EXPECT_FALSE(find_growth(seen, seen.job.status).is_due);
  EXPECT_EQ(find_growth(seen, seen.job.status).due_at, wall(260));
  seen.wall_now = wall(260);
  EXPECT_TRUE(find_growth(seen, seen.job.status).is_due);
}

// Its place was left out of the world: the successor makes the world grow, and waits as others do.
TEST(FindGrowth, TheSuccessorOfAMemberThatIsLeftOutWaitsForTheCooldownToo) {
  auto seen = two_of_three();
  auto& third = seen.job.status.members[2];
  third.successor = third.incarnation + 1;
  third.successor_uid = "the next one";
  ProcessIdentity next = process(2);
  next.incarnation = third.successor;
  next.member_uid = third.successor_uid;
  seen.processes[2] = test::waiting(next);
  auto growth = find_growth(seen, seen.job.status);
  EXPECT_FALSE(growth.is_due);
  EXPECT_EQ(growth.due_at, wall(260));
  const auto before = announce(seen, seen.job.status, true, growth);
  EXPECT_FALSE(before.hand_over);
  EXPECT_EQ(before.save_request, 0u);
  seen.wall_now = wall(260);
  growth = find_growth(seen, seen.job.status);
  EXPECT_TRUE(growth.is_due);
  EXPECT_TRUE(announce(seen, seen.job.status, true, growth).hand_over);
}

TEST(FindGrowth, NeedsSomebodyWhoIsReadyAndWillStay) {
  auto seen = two_of_three();
  seen.wall_now = wall(300);
  seen.nodes = {{.name = "node-3", .taints = {}, .is_unschedulable = true}};
  EXPECT_FALSE(find_growth(seen, seen.job.status).is_due) << "its node will go";
  seen.nodes.clear();
  seen.processes[2] = test::heard(process(2));
  EXPECT_FALSE(find_growth(seen, seen.job.status).is_due) << "it is not ready";
}

// Three are wanted, and there is a place for one more. All left attempt 1 at second 100; `ready` of them
// wait.
Observation three_of_four(std::vector<std::uint32_t> ready) {
  Observation seen = third_is_missing();
  seen.job.spec.elastic_policy->members_max = 4;
  seen.job.status.members.push_back({.role = "worker", .index = 3, .uid = test::uid_of(3), .node = "node-4"});
  seen.pods.push_back(test::pod(3));
  seen.processes.clear();
  for (const auto index : ready) seen.processes.push_back(test::waiting(process(index), 1));
  return seen;
}

TEST(PickNextWorldMembers, HasPlacesBeyondTheWantedNumberAndWaitsForNobodyThere) {
  const auto seen = three_of_four({0, 1, 2});
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false, true}));
  EXPECT_EQ(pick(seen).last_wait_ends_at, std::nullopt);
}

TEST(PickNextWorldMembers, AnyWhoAreReadyMakeTheWantedNumber) {
  const auto seen = three_of_four({0, 1, 3});
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true, false}));
}

TEST(PickNextWorldMembers, TakesAllWhoAreReadyAndWaitsForOneOnItsWay) {
  EXPECT_EQ(absent_in(pick(three_of_four({0, 1, 2, 3})).members), Flags({false, false, false, false}));
  auto seen = three_of_four({0, 1, 2});
  seen.processes.push_back(test::heard(process(3)));
  seen.wall_now = wall(109);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false, false}));
  EXPECT_EQ(pick(seen).last_wait_ends_at, wall(110));
  seen.wall_now = wall(110);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, false, true}));
}

TEST(PickNextWorldMembers, WaitsForTheWantedNumberAndNoLonger) {
  auto seen = three_of_four({0, 1});
  EXPECT_EQ(pick(seen).last_wait_ends_at, wall(120));
  seen.wall_now = wall(120);
  EXPECT_EQ(absent_in(pick(seen).members), Flags({false, false, true, true}));
}

Decision decide(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1));
}

TEST(ReconcileElastic, AWorldIsFormedWithFewerAndSaysSo) {
  auto seen = third_is_missing();
  seen.wall_now = wall(119);
  const auto before = decide(seen);
  EXPECT_FALSE(before.status.is_world_formed);
  EXPECT_EQ(before.wake_at, test::at_seconds(2));
  EXPECT_TRUE(
      before.status.message.ends_with("; the world forms with fewer members at 1970-01-01T00:02:00.000Z"))
      << before.status.message;
  seen.wall_now = wall(120);
  const auto after = decide(seen);
  EXPECT_EQ(after.status.world_size, 2U);
  EXPECT_EQ(after.status.message, "attempt 2 trains with 2 processes from step 0, 1 member is missing");
  EXPECT_EQ(after.status.world_formed_at, wall(120));
  EXPECT_EQ(after.status.world_awaited_since, std::nullopt);
  ASSERT_EQ(after.announcement.world.size(), 2U);
  EXPECT_EQ(after.announcement.world[1].assignment.world_size, 2U);
}

TEST(ReconcileElastic, PlacesBeyondTheWantedNumberHavePodsAndAreNotMissed) {
  auto seen = three_of_four({0, 1, 2});
  seen.pods[3].node.clear();
  seen.pods[3].phase = api::PodPhase::kPending;
  seen.pods[3].unplaced_reason = "no room";
  seen.job.status.members[3].node.clear();
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.message, "attempt 2 trains with 3 processes from step 0");
  EXPECT_TRUE(only<DeletePod>(decision).empty()) << "it may come";
  const auto scheduled = std::ranges::find(decision.status.conditions, "Scheduled", &api::Condition::type);
  ASSERT_NE(scheduled, decision.status.conditions.end());
  EXPECT_TRUE(scheduled->is_true) << scheduled->message;

  seen.pods[2].node.clear();
  seen.pods[2].unplaced_reason = "no room here either";
  seen.job.status.members[2].node.clear();
  seen.processes.pop_back();
  EXPECT_NE(decide(seen).status.message.find("no node takes digits-worker-2-i0: no room here either"),
            std::string::npos)
      << decide(seen).status.message;
}

TEST(ReconcileElastic, AWorldGrowsBeyondTheWantedNumber) {
  auto seen = three_of_four({3});
  seen.job.status = test::job(4).status;
  seen.job.status.members[3].is_absent = true;
  seen.job.status.world_formed_at = wall(200);
  seen.job.status.world_size = 3;
  seen.wall_now = wall(260);
  EXPECT_TRUE(find_growth(seen, seen.job.status).is_due);
}

TEST(ReconcileElastic, AJobBeginsWithAPodForEachPlace) {
  Observation seen{.job = test::new_job(3)};
  seen.job.spec.elastic_policy = {.members_min = 2, .members_max = 5};
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 5U);
}

TEST(ReconcileElastic, TheLossOfWhoIsAbsentDoesNotTouchTheWorld) {
  auto seen = two_of_three();
  seen.pods[2] = test::ended_pod(2, 137);
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  EXPECT_EQ(decision.status.members[2].incarnation, 1U);
  EXPECT_TRUE(decision.status.members[2].is_absent);
}

TEST(ReconcileElastic, AWorldIsHandedOverToALargerOne) {
  auto seen = two_of_three();
  seen.wall_now = wall(259);
  EXPECT_FALSE(decide(seen).announcement.hand_over);
  EXPECT_EQ(decide(seen).wake_at, test::at_seconds(2));
  seen.wall_now = wall(260);
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.announcement.hand_over);
  EXPECT_EQ(decision.announcement.save_request, 1U);
  EXPECT_TRUE(decision.status.is_world_formed) << "until they have handed over";
  EXPECT_GT(decision.wake_at, test::at_seconds(1))
      << "they take their time, and looking at once changes nothing";
}

// The clock went back by six hours since the world ended, or the last leader's clock was ahead.
TEST(ReconcileElastic, ATimeInTheFutureDelaysNoShrinking) {
  auto seen = third_is_missing();
  seen.job.status.world_awaited_since = wall(6 * 3600);
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.world_awaited_since, wall(110));
  seen.job.status = decision.status;
  seen.wall_now = wall(130);
  EXPECT_EQ(absent_in(decide(seen).status.members), Flags({false, false, true}));
}

// The user has removed elasticPolicy, so that all must train.
TEST(ReconcileElastic, WithoutAPolicyAWorldGrowsOnceAllAbsentMembersWait) {
  auto seen = two_of_three();
  seen.job.spec.elastic_policy.reset();
  EXPECT_TRUE(find_growth(seen, seen.job.status).is_due);
  seen.job.status.members[1].is_absent = true;
  EXPECT_FALSE(find_growth(seen, seen.job.status).is_due) << "member 1 does not wait";
  seen.job.status.members[1].is_absent = seen.job.status.members[2].is_absent = false;
  EXPECT_FALSE(find_growth(seen, seen.job.status).is_due);
}

TEST(ReconcileElastic, AJobIsDoneWithoutWhoIsAbsent) {
  auto seen = two_of_three();
  seen.processes[0] = test::done(process(0));
  seen.processes[1] = test::done(process(1));
  const auto decision = decide(seen);
  EXPECT_EQ(decision.status.phase, api::JobPhase::kSucceeded);
  const bool deletes_third =
      std::any_of(decision.actions.begin(), decision.actions.end(), [](const Action& action) {
        const auto* gone = std::get_if<DeletePod>(&action);
        return gone != nullptr && gone->uid == test::uid_of(2);
      });
  EXPECT_TRUE(deletes_third) << "it would wait for ever";
}

TEST(ReconcileElastic, ANewOperatorKnowsWhoIsAbsent) {
  auto seen = two_of_three();
  seen.world.clear();
  seen.processes[0] = test::heard(process(0));
  seen.processes[1] = test::heard(process(1));
  for (std::size_t i = 0; i < 2; ++i)
    seen.processes[i].beat = test::beat(process(static_cast<std::uint32_t>(i)), 1, 5);
  const auto decision = decide(seen);
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
}

}  // namespace
}  // namespace ratoon::core::elastic_test
