// The creation of a group: the first pod before the others, and all anew if their number has changed.
#include <gtest/gtest.h>

#include "operator/core/world/agentless_group.h"
#include "tests/support/group_builders.h"

namespace ratoon::core::agentless_group_start_test {
namespace {

using test::decide;
using test::follow;
using test::group_job;
using test::incarnations;
using test::kGroupMembers;
using test::only;
using test::running_group;

TEST(GroupStart, TheFirstMemberIsMadeAloneAndTheOthersLearnItsAddress) {
  auto job = group_job();
  job.status = {};
  job.spec.processes_per_node = 2;
  Observation seen{.job = job};
  const auto first = decide(seen);
  auto made = only<CreatePod>(first);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].pod.group_rank_assignment, (api::GroupRankAssignment{.first_rank = 0, .world_size = 6}));
  follow(first, seen);
  EXPECT_TRUE(only<CreatePod>(decide(seen)).empty()) << "it has no address yet";
  seen.pods[0].address = "10.0.0.7";
  made = only<CreatePod>(decide(seen));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(
      made[1].pod.group_rank_assignment,
      (api::GroupRankAssignment{
          .master_address = "10.0.0.7", .master_uid = seen.pods[0].uid, .first_rank = 4, .world_size = 6}));
}

// Its first pod was made for another size, or will be: the creation may arrive late.
TEST(GroupStart, OfAnotherSizeIsMadeAnewAsAWhole) {
  for (const std::uint32_t size : {kGroupMembers - 1, kGroupMembers + 1}) {
    auto seen = running_group();
    seen.job.spec.num_nodes = size;
    auto decision = decide(seen);
    EXPECT_EQ(decision.status.attempt, Attempt(2));
    EXPECT_FALSE(decision.status.is_world_formed);
    EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>(size, 1));
    EXPECT_EQ(only<DeletePod>(decision).size(), kGroupMembers);
    EXPECT_EQ(decision.status.restarts, seen.job.status.restarts) << "nobody was lost";

    auto forming = running_group();
    forming.pods.clear();
    forming.job.spec.num_nodes = size;
    forming.job.status.is_world_formed = false;
    for (auto& member : forming.job.status.members) member.uid.clear();
    decision = decide(forming);
    EXPECT_EQ(incarnations(decision.status), std::vector<std::uint32_t>(size, 1)) << "no pod is seen yet";
    follow(decision, forming);
    EXPECT_EQ(incarnations(decide(forming).status), std::vector<std::uint32_t>(size, 1)) << "once";
  }
}

TEST(GroupStart, AViewThatIsBehindDoesNotTakeAPlaceBack) {
  auto seen = running_group();
  const auto& members = seen.job.status.members;
  seen.pods[2].node.clear();
  seen.pods[2].phase = api::PodPhase::kPending;
  EXPECT_EQ(decide(seen).status.members, members);
}

// Two programs of one rank would meet: a replaced pod may have got a node at the moment in which it was given
// up.
TEST(GroupStart, NobodyIsMadeBesideAFormerOneThatMeetsTheSameFirst) {
  auto seen = running_group();
  seen.job.status.is_world_formed = false;
  seen.job.status.members[2].incarnation = 1;
  seen.job.status.members[2].uid.clear();
  seen.pods[2].rank0_pod_uid = seen.pods[0].uid;
  for (const std::string node : {"node-3", ""}) {
    seen.pods[2].node = node;
    EXPECT_TRUE(only<CreatePod>(decide(seen)).empty()) << node;
  }
  auto going = seen;
  going.pods[2].is_deleting = true;
  EXPECT_EQ(only<CreatePod>(decide(going)).size(), 1U) << "no node takes it any more";
  auto ended = seen;
  ended.pods[2].phase = api::PodPhase::kFailed;
  EXPECT_EQ(only<CreatePod>(decide(ended)).size(), 1U);
  seen.pods.pop_back();
  EXPECT_EQ(only<CreatePod>(decide(seen)).size(), 1U);
}

}  // namespace
}  // namespace ratoon::core::agentless_group_start_test
