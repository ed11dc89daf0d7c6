#include "operator/core/members/suspect_nodes.h"

#include <gtest/gtest.h>

#include "operator/core/loss/silence.h"
#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::suspect_nodes_test {
namespace {

using test::wall;
Loss silent_loss(const std::string& node) {
  return {.member = {.role = "worker", .index = 0, .incarnation = 0, .uid = "u", .node = node},
          .reason = "silent for too long",
          .is_silent = true};
}

Observation at(int seconds) {
  Observation seen{.job = test::job(2)};
  seen.wall_now = wall(seconds);
  return seen;
}

TEST(SuspectNodes, ANodeThatFellSilentIsAvoidedForAWhile) {
  auto seen = at(1000);
  const auto suspects = update_suspects(seen, {silent_loss("node-1")});
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].until, wall(1300));
  seen.job.status.suspect_nodes = suspects;
  seen.wall_now = wall(1299);
  EXPECT_EQ(update_suspects(seen, {}), suspects);
  seen.wall_now = wall(1300);
  EXPECT_TRUE(update_suspects(seen, {}).empty());
}

TEST(SuspectNodes, LossesThatSayNothingAboutANodeDoNotCount) {
  auto crashed = silent_loss("node-1");
  crashed.is_silent = false;
  EXPECT_TRUE(update_suspects(at(0), {crashed}).empty());
  EXPECT_TRUE(update_suspects(at(0), {silent_loss("")}).empty());
  auto seen = at(0);
  seen.job.spec.disruption_policy.avoid_node_seconds = 0;
  EXPECT_TRUE(update_suspects(seen, {silent_loss("node-1")}).empty());
}

TEST(SuspectNodes, ANodeThatSpokeSinceIsNoSuspect) {
  auto seen = at(1000);
  const auto suspects = update_suspects(seen, {silent_loss("node-1")});
  seen.job.status.suspect_nodes = suspects;
  seen.wall_now = wall(1020);
  seen.nodes = {{.name = "node-1", .last_heartbeat = wall(1003)}};
  EXPECT_EQ(update_suspects(seen, {}), suspects) << "its last words, by a clock that is a little ahead";
  seen.nodes[0].last_heartbeat = wall(1004);
  EXPECT_TRUE(update_suspects(seen, {}).empty());
  seen.nodes[0].is_ready = false;
  EXPECT_EQ(update_suspects(seen, {}), suspects);
  seen.nodes[0] = {.name = "node-2", .last_heartbeat = wall(1010)};
  EXPECT_EQ(update_suspects(seen, {}), suspects);
}

TEST(RecreateUnplaced, APodThatWaitsIsMadeAnewOnceAnAvoidedNodeMayBeUsed) {
  auto seen = test::running(test::job(2));
  seen.pods[1].node.clear();
  seen.pods[1].phase = api::PodPhase::kPending;
  seen.pods[1].avoided_nodes = {"node-2", "node-3"};
  auto members = seen.job.status.members;
  recreate_unplaced(seen, {{.name = "node-2"}}, members);
  EXPECT_EQ(members, seen.job.status.members) << "its process spoke: it runs, and the view is behind";
  seen.processes.pop_back();
  recreate_unplaced(seen, {{.name = "node-2"}, {.name = "node-3"}, {.name = "node-9"}}, members);
  EXPECT_EQ(members, seen.job.status.members) << "nothing that it avoids may be used";
  recreate_unplaced(seen, {{.name = "node-2"}}, members);
  EXPECT_EQ(members[0], seen.job.status.members[0]);
  EXPECT_EQ(members[1].incarnation, 1U);
}

TEST(RecreateUnplaced, PlacedOnesStay) {
  auto seen = test::running(test::job(1));
  seen.pods[0].avoided_nodes = {"node-7"};
  auto members = seen.job.status.members;
  recreate_unplaced(seen, {}, members);
  EXPECT_EQ(members, seen.job.status.members);
}

// It was alive all the time: others could not connect to it.
TEST(SuspectNodes, AHeartbeatDoesNotClearANodeWithoutConnections) {
  auto seen = at(1000);
  Loss loss = silent_loss("node-1");
  loss.is_silent = false;
  loss.is_unreachable = true;
  const auto suspects = update_suspects(seen, {loss});
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_TRUE(suspects[0].is_unreachable);
  seen.job.status.suspect_nodes = suspects;
  seen.wall_now = wall(1200);
  seen.nodes = {{.name = "node-1", .last_heartbeat = wall(1199)}};
  EXPECT_EQ(update_suspects(seen, {}), suspects);
  const auto also_silent = update_suspects(seen, {silent_loss("node-1")});
  ASSERT_EQ(also_silent.size(), 1U);
  EXPECT_TRUE(also_silent[0].is_unreachable) << "silence does not mend its connections";
  EXPECT_EQ(also_silent[0].until, wall(1500));
  seen.wall_now = wall(1300);
  EXPECT_TRUE(update_suspects(seen, {}).empty());
}

TEST(SuspectNodes, TheListIsBoundedAndANodeIsInItOnce) {
  auto seen = at(5);
  for (int i = 0; i < 200; ++i)
    seen.job.status.suspect_nodes = update_suspects(seen, {silent_loss("node-" + std::to_string(i))});
  EXPECT_EQ(seen.job.status.suspect_nodes.size(), 64U);
  EXPECT_EQ(seen.job.status.suspect_nodes.back().name, "node-199");
  seen.wall_now = wall(9);
  EXPECT_EQ(update_suspects(seen, {silent_loss("node-199")}).size(), 64U);
}

// The silence of members that never sent a message there is another question.
TEST(SuspectNodes, WhoIsSilentIsJudgedAnewAtOnceWhenANodeIsNoneAnyMore) {
  auto seen = test::running(test::job(2));
  seen.wall_now = wall(100);
  seen.job.status.suspect_nodes = {{.name = "node-9", .reason = "silent", .until = wall(100)}};
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(decision.status.suspect_nodes.empty());
  EXPECT_EQ(decision.wake_at, test::at_seconds(1));
  seen.job.status = decision.status;
  EXPECT_NE(reconcile(seen, test::at_seconds(1)).wake_at, test::at_seconds(1)) << "once";
}

TEST(NodesToAvoid, AreSuspectsAndNodesThatWillGo) {
  auto seen = at(0);
  seen.nodes = {{.name = "b", .is_unschedulable = true}, {.name = "c"}};
  EXPECT_EQ(test::names_of(nodes_to_avoid(seen, {{.name = "a", .reason = "", .until = {}}})),
            (std::vector<std::string>{"a", "b"}));
}

TEST(NodesToAvoid, AreExcludedByThePodsThatTheSchedulerCountsThere) {
  auto seen = test::running(test::job(4));
  for (auto& pod : seen.pods) pod.node = "a";
  seen.pods[0].is_deleting = true;
  seen.pods[1].phase = api::PodPhase::kFailed;
  seen.pods[2].phase = api::PodPhase::kFailed;
  seen.pods[2].has_running_sidecars = true;
  seen.pods[3].node = "b";
  const auto nodes = nodes_to_avoid(seen, {{.name = "a", .reason = "", .until = {}}});
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].pods, (std::vector<api::MemberPodKey>{{"worker", 0, 0}, {"worker", 2, 0}}));
}

TEST(NodesToAvoid, AreLeftToTaintsUnlessTheyAreSuspects) {
  auto seen = at(0);
  const api::Taint soft{.key = "karpenter.sh/disrupted", .effect = "PreferNoSchedule"};
  const api::Taint hard{.key = "karpenter.sh/disrupted", .effect = "NoSchedule"};
  const api::Taint cordon{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"};
  seen.nodes = {
      {.name = "a", .taints = {hard}},         {.name = "b", .taints = {soft}},
      {.name = "c", .is_unschedulable = true}, {.name = "d", .taints = {cordon}, .is_unschedulable = true},
      {.name = "e", .taints = {hard}},         {.name = "f", .is_deleting = true}};
  const auto nodes = nodes_to_avoid(seen, {{.name = "e", .reason = "", .until = {}}});
  ASSERT_EQ(nodes.size(), 5U) << "node b has a taint that is no notice, and that the scheduler may ignore";
  EXPECT_EQ(nodes[0].scheduler_avoided_taints, std::vector{hard});
  EXPECT_EQ(nodes[1].scheduler_avoided_taints, std::vector{cordon});
  EXPECT_EQ(nodes[2].scheduler_avoided_taints, std::vector{cordon});
  EXPECT_TRUE(nodes[3].scheduler_avoided_taints.empty())
      << "it is avoided for longer than its taint may last";
  EXPECT_TRUE(nodes[4].scheduler_avoided_taints.empty());
}

// The node died, and a new machine has its name. The scheduler places the next pod there.
TEST(SuspectNodes, APodThatIsPlacedOnANodeThatIsBackIsNotLostWithTheFormerOne) {
  auto seen = test::running(test::job(2));
  seen.wall_now = wall(1010);
  seen.processes[0].last_heard = test::at_seconds(110);
  seen.processes.pop_back();
  seen.job.status.suspect_nodes = {{.name = "node-2", .reason = "", .until = wall(1300)}};
  const auto lost = [&](double now) { return find_silent_members(seen, test::at_seconds(now)).lost.size(); };
  for (const auto phase : {api::PodPhase::kPending, api::PodPhase::kRunning}) {
    seen.pods[1].phase = phase;
    seen.pods[1].placed_at = wall(1009);
    EXPECT_EQ(lost(110), 0U) << "the node fell silent at 1000 s";
    seen.pods[1].placed_at = wall(990);
    EXPECT_EQ(lost(110), 1U) << "it was there when the node fell silent";
  }
  seen.job.status.suspect_nodes.clear();
  seen.nodes = {{.name = "node-2", .is_lost = true}};
  seen.pods[1].placed_at = wall(1009);
  EXPECT_EQ(lost(110), 0U) << "the news of the new machine may come later";
  EXPECT_EQ(find_silent_members(seen, test::at_seconds(110)).next_check, test::at_seconds(112));
}

}  // namespace
}  // namespace ratoon::core::suspect_nodes_test
