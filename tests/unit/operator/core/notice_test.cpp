#include "operator/core/members/notice.h"

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::notice_test {
namespace {

using test::only;
using test::process;
using test::wall;

api::Node node_with(const std::string& key, const std::string& effect = "NoSchedule") {
  return {.name = "node-2", .taints = {{key, effect}}};
}

// Stores the decision and starts its pods.
void follow(Observation& seen, const Decision& decision) {
  test::store(decision, "node-4", seen);
  for (const auto& action : only<DeletePod>(decision))
    std::erase_if(seen.pods, [&](const auto& pod) { return pod.uid == action.uid; });
}

Observation noticed() {
  auto seen = test::running(test::job(3));
  seen.nodes = {{.name = "node-1"}, node_with("karpenter.sh/disrupted"), {.name = "node-3"}};
  return seen;
}

Observation with_node(api::Node node) {
  Observation seen{.job = test::job(1)};
  seen.wall_now = wall(1000);
  seen.nodes = {std::move(node)};
  return seen;
}

TEST(FindNotice, KnowsTheRulesOfTheOperatorAndTheTaintsOfTheJob) {
  auto seen = with_node(node_with("example.com/leaving"));
  EXPECT_EQ(find_node_notice(seen, "node-2"), "");
  seen.job.spec.disruption_policy.notice_taints = {"example.com/leaving"};
  EXPECT_EQ(find_node_notice(seen, "node-2"),
            "taint example.com/leaving, rule disruptionPolicy.noticeTaints");
  EXPECT_EQ(find_node_notice(seen, "node-3"), "") << "it is unknown";
  seen.nodes[0].taints[0].effect = "PreferNoSchedule";
  EXPECT_EQ(find_node_notice(seen, "node-2"), "") << "most nodes with this effect stay";
  seen.nodes = {node_with("karpenter.sh/disrupted")};
  EXPECT_EQ(find_node_notice(seen, "node-2"), "taint karpenter.sh/disrupted, rule karpenter-disruption");
  const NoticeRules none;
  seen.notice_rules = &none;
  EXPECT_EQ(find_node_notice(seen, "node-2"), "");
}

TEST(FindNodeEnd, IsTheNearerOneOfTheNodesOwnEndAndThatOfItsNotices) {
  const auto end_of = [](api::Node node) {
    const auto seen = with_node(std::move(node));
    return find_node_end_time(seen, seen.nodes[0]);
  };
  EXPECT_EQ(end_of(node_with("aws-node-termination-handler/spot-itn")), wall(1120));
  EXPECT_EQ(end_of({.name = "n", .ends_at = wall(1007)}), wall(1007));
  EXPECT_EQ(end_of({.name = "n",
                    .taints = {{"aws-node-termination-handler/spot-itn", "NoExecute", wall(990)}},
                    .ends_at = wall(1100)}),
            wall(1100));
  EXPECT_EQ(end_of({.name = "n",
                    .taints = {{"aws-node-termination-handler/spot-itn", "NoExecute", wall(970)}},
                    .ends_at = wall(1100)}),
            wall(1090))
      << "counted from when it was added";
  for (const char* key : {"karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler", "ratoon.dev/reclaim"})
    EXPECT_EQ(end_of(node_with(key)), std::nullopt) << key << " has no time of its own";
  EXPECT_EQ(end_of({.name = "n", .is_unschedulable = true, .is_deleting = true}), std::nullopt);
}

TEST(Notice, ThatIsAnnouncedForLaterBeginsThen) {
  auto seen = test::running(test::job(3));
  seen.wall_now = wall(1000);
  seen.nodes = {{.name = "node-2", .labels = {{"cloud.google.com/scheduled-maintenance-time", "2000"}}}};
  const auto before = reconcile(seen, test::at_seconds(1));
  EXPECT_FALSE(before.status.members[1].is_leaving());
  EXPECT_LE(before.wake_at, test::at_seconds(101)) << "15 minutes before the maintenance";
  follow(seen, before);
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(101);
  seen.wall_now = wall(1100);
  const auto then = reconcile(seen, test::at_seconds(101));
  EXPECT_TRUE(then.status.members[1].is_leaving());
  EXPECT_FALSE(then.status.members[0].is_leaving());
  EXPECT_TRUE(then.announcement.departures.empty()) << "each pod will have its own grace";
}

TEST(Notice, ItsEndIsToldToThoseOnTheNodeAndNotPutOff) {
  auto seen = noticed();
  seen.wall_now = wall(1000);
  seen.nodes[1] = node_with("aws-node-termination-handler/spot-itn");
  const std::vector<api::Departure> told = {
      {.role = "worker", .index = 1, .incarnation = 0, .at = wall(1120)}};
  const auto first = reconcile(seen, test::at_seconds(1));
  EXPECT_EQ(first.announcement.departures, told);
  EXPECT_EQ(first.status.members[1].node_ends_at, wall(1120));
  follow(seen, first);
  seen.wall_now = wall(1060);
  EXPECT_EQ(reconcile(seen, test::at_seconds(2)).announcement.departures, told) << "a taint without a time";
  auto done = seen;
  done.job.status.members[1].is_completed = true;
  EXPECT_TRUE(reconcile(done, test::at_seconds(2)).announcement.departures.empty()) << "nobody is there";
  seen.nodes[1].ends_at = wall(1070);
  EXPECT_EQ(reconcile(seen, test::at_seconds(2)).announcement.departures[0].at, wall(1070)) << "nearer";
  seen.nodes[1] = {.name = "node-2"};
  const auto taken_back = reconcile(seen, test::at_seconds(2));
  EXPECT_TRUE(taken_back.announcement.departures.empty());
  EXPECT_EQ(taken_back.status.members[1].node_ends_at, std::nullopt);
}

TEST(Notice, WhoTakesOverDoesNotInheritTheEnd) {
  auto seen = noticed();
  seen.nodes[1].ends_at = wall(1000);
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  ASSERT_TRUE(seen.job.status.members[1].node_ends_at);
  EXPECT_EQ(successor_of(seen.job.status.members[1]).node_ends_at, std::nullopt);
}

TEST(Notice, MakesASuccessorElsewhereWhileTheWorldTrainsOnAndSaves) {
  auto seen = noticed();
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
  EXPECT_EQ(decision.announcement.world.size(), 3U);
  EXPECT_EQ(decision.announcement.save_request, 1U);
  EXPECT_FALSE(decision.announcement.hand_over);
  const auto created = only<CreatePod>(decision);
  ASSERT_EQ(created.size(), 1U);
  EXPECT_EQ(created[0].pod.index, 1U);
  EXPECT_EQ(created[0].pod.incarnation, 1U);
  EXPECT_EQ(test::names_of(created[0].avoid_nodes), std::vector<std::string>{"node-2"});
  EXPECT_TRUE(only<DeletePod>(decision).empty());
  EXPECT_EQ(decision.status.restarts, api::Restarts()) << "nothing was lost";
  EXPECT_EQ(decision.announcement.current.size(), 4U) << "both incarnations may speak";

  follow(seen, decision);
  const auto again = reconcile(seen, test::at_seconds(2));
  EXPECT_TRUE(again.actions.empty()) << "said once";
}

// A member on a node that goes at 1120, whose saves take this long.
Observation leaving_with_saves_of(double save_seconds) {
  auto seen = noticed();
  seen.wall_now = wall(1000);
  seen.nodes[1] = node_with("aws-node-termination-handler/spot-itn");
  for (auto& heard : seen.processes) {
    heard.beat = test::beat(heard.identity, 1, 30);
    heard.beat->save_seconds = save_seconds;
  }
  follow(seen, reconcile(seen, test::at_seconds(1)));
  return seen;
}

TEST(Notice, ASaveThatWouldDelayTheOneOfTheHandOverIsNotAskedFor) {
  auto seen = leaving_with_saves_of(55);
  auto decision = reconcile(seen, test::at_seconds(1.5));
  EXPECT_EQ(decision.announcement.save_request, 0U) << "two of them and a margin end at its end";
  EXPECT_EQ(decision.announcement.departures.size(), 1U) << "it plans its save by that";
  follow(seen, decision);
  seen.processes.push_back(test::waiting(process(1, 1), 0, {}, 2));
  decision = reconcile(seen, test::at_seconds(2));
  EXPECT_EQ(decision.announcement.save_request, 1U);
  EXPECT_TRUE(decision.announcement.hand_over);

  seen = leaving_with_saves_of(54.9);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1.5)).announcement.save_request, 1U);
  seen = leaving_with_saves_of(600);
  seen.nodes[1] = node_with("karpenter.sh/disrupted");
  EXPECT_EQ(reconcile(seen, test::at_seconds(1.5)).announcement.save_request, 1U) << "no end is known";
}

// kubectl delete pod, an eviction: member 1's pod has until 1030.
Observation deleted_with_grace() {
  auto seen = test::running(test::job(3));
  seen.wall_now = wall(1000);
  seen.pods[1].is_deleting = true;
  seen.pods[1].ends_at = wall(1030);
  return seen;
}

TEST(Notice, APodThatIsDeletedWithGraceIsOne) {
  auto seen = deleted_with_grace();
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.attempt, Attempt(1));
  EXPECT_EQ(decision.status.restarts, api::Restarts()) << "it trains on";
  EXPECT_EQ(decision.announcement.save_request, 1U);
  const std::vector<api::Departure> told = {
      {.role = "worker", .index = 1, .incarnation = 0, .at = wall(1030)}};
  EXPECT_EQ(decision.announcement.departures, told);
  const auto made = only<CreatePod>(decision);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].pod.incarnation, 1U);
  EXPECT_TRUE(made[0].avoid_nodes.empty()) << "its node stays";
  EXPECT_TRUE(only<EmitEvent>(decision)[0].message.ends_with("its pod is being deleted"));
  follow(seen, decision);
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  seen.processes.push_back(test::waiting(process(1, 1), 0, {}, 2));
  EXPECT_TRUE(reconcile(seen, test::at_seconds(2)).announcement.hand_over);
}

TEST(Notice, APodThatIsDeletedIsLostWhenItsGraceIsOverAndLookedAtThen) {
  auto seen = deleted_with_grace();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1)));
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(30);
  seen.wall_now = wall(1029);
  const auto before = reconcile(seen, test::at_seconds(30));
  EXPECT_TRUE(before.status.is_world_formed);
  EXPECT_LE(before.wake_at, test::at_seconds(31));
  seen.wall_now = wall(1030);
  const auto after = reconcile(seen, test::at_seconds(31));
  EXPECT_FALSE(after.status.is_world_formed);
  EXPECT_EQ(after.status.restarts.disruption, 1U);
  EXPECT_EQ(after.status.members[1].incarnation, 1U) << "its successor";
}

TEST(Notice, APodThatIsDeletedIsLostAtOnceWhereNothingCanBeSaved) {
  auto waits = deleted_with_grace();
  waits.job.status.is_world_formed = false;
  EXPECT_EQ(reconcile(waits, test::at_seconds(1)).status.restarts.disruption, 1U) << "no world stands";
  auto has_no_grace = deleted_with_grace();
  has_no_grace.pods[1].ends_at.reset();
  EXPECT_EQ(reconcile(has_no_grace, test::at_seconds(1)).status.restarts.disruption, 1U);
  auto has_ended = deleted_with_grace();
  has_ended.pods[1].phase = api::PodPhase::kFailed;
  EXPECT_EQ(reconcile(has_ended, test::at_seconds(1)).status.restarts.disruption, 1U);
  auto is_silent = deleted_with_grace();
  for (auto& process : is_silent.processes) process.last_heard = test::at_seconds(9);
  is_silent.processes[1].last_heard = test::at_seconds(5);
  EXPECT_EQ(reconcile(is_silent, test::at_seconds(9)).status.restarts.disruption, 1U) << "its node died";
}

TEST(Notice, HandsOverOnceTheSuccessorWaitsAndLosesNothing) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));  // notes the successor's UID
  seen.processes.push_back(test::waiting(process(1, 1), 0, {}, 2));
  const auto ordered = reconcile(seen, test::at_seconds(2));
  EXPECT_NE(ordered.wake_at, test::at_seconds(2));
  EXPECT_TRUE(ordered.announcement.hand_over);
  EXPECT_TRUE(ordered.status.is_world_formed);
  follow(seen, ordered);

  // All save, leave and join again, the old incarnation of member 1 too.
  const std::vector<InventoryEntry> saved = {test::checkpoint(1, 40)};
  for (std::uint32_t i = 0; i < 3; ++i) seen.processes[i] = test::waiting(process(i), 1, saved, 3);
  seen.processes[3] = test::waiting(process(1, 1), 0, saved, 3);
  const auto formed = reconcile(seen, test::at_seconds(3));
  EXPECT_TRUE(formed.status.is_world_formed);
  EXPECT_EQ(formed.status.attempt, Attempt(2));
  ASSERT_EQ(formed.announcement.world.size(), 3U);
  EXPECT_EQ(formed.announcement.world[1].process, process(1, 1));
  EXPECT_EQ(formed.announcement.world[1].assignment.resume->step, Step(40));
  const auto deleted = only<DeletePod>(formed);
  ASSERT_EQ(deleted.size(), 1U);
  EXPECT_EQ(deleted[0].uid, test::uid_of(1));
  EXPECT_FALSE(formed.status.members[1].is_leaving());
  EXPECT_EQ(formed.status.members[1].node, "node-4");
  EXPECT_EQ(formed.wake_at, test::at_seconds(3)) << "among others, another's silence may count";
  EXPECT_EQ(formed.status.restarts, api::Restarts());
}

// Its list of checkpoints is as old as its wait, and it may be the only one that joins.
TEST(Notice, ASuccessorAloneGoesOnFromWhatWasSavedForIt) {
  auto seen = test::running(test::job(1));
  seen.nodes = {{.name = "node-1", .is_unschedulable = true}};
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  seen.processes.push_back(test::waiting(process(0, 1), 0, {}, 2));
  seen.processes[0] = test::waiting(process(0), 1, {test::checkpoint(1, 40)}, 3);
  seen.job.status.last_checkpoint = test::resume_point(1, 40);
  auto formed = reconcile(seen, test::at_seconds(3));
  ASSERT_EQ(formed.announcement.world.size(), 1U) << formed.status.message;
  EXPECT_EQ(formed.announcement.world[0].process, process(0, 1));
  EXPECT_EQ(formed.announcement.world[0].assignment.resume, test::resume_point(1, 40));

  // The same after the decision was stored and no member was told.
  seen.job.status = formed.status;
  seen.job.status = reconcile(seen, test::at_seconds(4)).status;  // both look again
  seen.processes[1].checkpoints_listed_at = test::at_seconds(4.25);
  seen.wall_now = wall(1);
  formed = reconcile(seen, test::at_seconds(4.5));
  ASSERT_EQ(formed.announcement.world.size(), 1U) << formed.status.message;
  EXPECT_EQ(formed.announcement.world[0].assignment.resume, test::resume_point(1, 40));

  // The same if the old incarnation was lost before it came back, after it reported its commit.
  seen = test::running(test::job(1));
  seen.job.status.members[0].successor = 1;
  seen.job.status.members[0].successor_uid = test::uid_of(0, 1);
  seen.pods = {test::ended_pod(0, 137), test::pod(0, 1)};
  seen.processes[0].beat = test::beat(process(0), 1, 41, 9, test::checkpoint(1, 40));
  seen.processes.push_back(test::waiting(process(0, 1)));
  const auto ended = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(ended.announcement.checkpoint_lists_valid_from)
      << "it looks again first: more may have been committed since";
  seen.job.status = ended.status;
  seen.wall_now = wall(1);
  seen.processes[1].checkpoints_listed_at = test::at_seconds(1.25);
  formed = reconcile(seen, test::at_seconds(1.25));
  ASSERT_EQ(formed.announcement.world.size(), 1U) << formed.status.message;
  EXPECT_EQ(formed.announcement.world[0].assignment.resume, test::resume_point(1, 40));
}

TEST(Notice, WhatANamesakeSavedIsNotOfThisJob) {
  auto seen = test::running(test::job(1));
  ProcessIdentity namesake = process(0);
  namesake.member_uid = "of a job that was deleted";
  seen.processes.push_back(test::waiting(namesake, 0, {test::checkpoint(9, 900)}));
  seen.processes[0] = test::waiting(process(0), 1, {test::checkpoint(1, 40)});
  const auto formed = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(formed.announcement.world.size(), 1U);
  EXPECT_EQ(formed.announcement.world[0].assignment.resume, test::resume_point(1, 40));
}

TEST(IsSuccessorReady, WhenAllItsProcessesWait) {
  auto seen = test::running(test::job(1));
  seen.job.spec.processes_per_node = 2;
  auto& member = seen.job.status.members[0];
  EXPECT_FALSE(is_successor_ready(seen, member)) << "it has none";
  member.successor = 1;
  member.successor_uid = test::uid_of(0, 1);
  seen.processes = {test::waiting(process(0, 0)), test::waiting(process(0, 0, 1))};
  EXPECT_FALSE(is_successor_ready(seen, member)) << "it is the member that waits";
  seen.processes.push_back(test::waiting(process(0, 1)));
  EXPECT_FALSE(is_successor_ready(seen, member)) << "one of two";
  seen.processes.push_back(test::heard(process(0, 1, 1)));
  EXPECT_FALSE(is_successor_ready(seen, member)) << "the other one only beats";
  seen.processes.back() = test::waiting(process(0, 1, 1));
  EXPECT_TRUE(is_successor_ready(seen, member));
}

TEST(Notice, ANodeOnWhichASuccessorFellSilentIsAvoided) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  for (auto& process : seen.processes) process.last_heard = test::at_seconds(606);
  seen.processes.push_back(test::heard(process(1, 1), 6));  // it is still starting: the start deadline counts
  const auto decision = reconcile(seen, test::at_seconds(606));
  const auto created = only<CreatePod>(decision);
  ASSERT_EQ(created.size(), 1U);
  EXPECT_EQ(test::names_of(created[0].avoid_nodes), (std::vector<std::string>{"node-2", "node-4"}));
}

TEST(Notice, ASuccessorWhoseNodeWillGoTooHasOneItself) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  seen.nodes.push_back({.name = "node-4", .is_unschedulable = true});
  std::erase_if(seen.pods, [](const auto& pod) { return pod.uid == test::uid_of(1); });
  const auto decision = reconcile(seen, test::at_seconds(2));
  EXPECT_EQ(decision.status.members[1].incarnation, 1U);
  EXPECT_EQ(decision.status.members[1].successor, 2U) << "in the same decision";
}

TEST(Notice, ANoticeThatIsTakenBackLeavesTheSuccessorItNamed) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  seen.nodes[1].taints.clear();
  const auto decision = reconcile(seen, test::at_seconds(2));
  EXPECT_EQ(decision.status.members[1].successor, 1U);
  EXPECT_TRUE(only<DeletePod>(decision).empty());
}

TEST(Notice, ANodeThatGoesBeforeItsSuccessorIsReadyIsALossWithAHeadStart) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  std::erase_if(seen.pods, [](const auto& pod) { return pod.uid == test::uid_of(1); });
  const auto decision = reconcile(seen, test::at_seconds(2));
  EXPECT_EQ(decision.status.members[1].incarnation, 1U);
  EXPECT_EQ(decision.status.members[1].uid, test::uid_of(1, 1));
  EXPECT_EQ(decision.status.restarts.disruption, 1U);
  EXPECT_TRUE(only<CreatePod>(decision).empty()) << "it is on its way already";
  EXPECT_FALSE(decision.status.is_world_formed);
}

TEST(Notice, ASuccessorThatEndsIsReplacedAndTheWorldDoesNotNotice) {
  auto seen = noticed();
  follow(seen, reconcile(seen, test::at_seconds(1)));
  follow(seen, reconcile(seen, test::at_seconds(1.5)));
  seen.pods.back() = test::ended_pod(1, 137, 1);
  const auto decision = reconcile(seen, test::at_seconds(2));
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.members[1].incarnation, 0U);
  EXPECT_EQ(decision.status.members[1].successor, 2U);
  EXPECT_EQ(only<CreatePod>(decision).size(), 1U);
}

}  // namespace
}  // namespace ratoon::core::notice_test
