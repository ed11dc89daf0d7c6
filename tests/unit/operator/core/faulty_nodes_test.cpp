#include "operator/core/members/faulty_nodes.h"

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::faulty_nodes_test {
namespace {

using test::wall;
using Names = std::vector<std::string>;

// A job whose status gets one failure after the other.
class SickNodes : public testing::Test {
 protected:
  void fail(const std::string& node, int seconds) {
    seen_.wall_now = wall(seconds);
    auto status = seen_.job.status;
    status.last_failure = {.member = "digits-worker-0-i" + std::to_string(++failures_),
                           .node = node,
                           .time = wall(seconds),
                           .reason = "exit code 1",
                           .exit_code = std::nullopt,
                           .signal = std::nullopt,
                           .exception = {},
                           .last_lines = {}};
    record_failed_nodes(seen_, {.members = {}, .restarts = {}}, status);
    seen_.job.status = status;
  }
  [[nodiscard]] Names sick_at(int seconds) {
    seen_.wall_now = wall(seconds);
    return faulty_nodes(seen_, seen_.job.status);
  }

  Observation seen_{.job = test::job(2)};

 private:
  int failures_ = 0;
};

TEST_F(SickNodes, TwoFailuresWithinAnHourMakeOneForAnHour) {
  fail("node-1", 1000);
  EXPECT_EQ(sick_at(1000), Names()) << "once is a program's";
  fail("node-2", 2000);
  fail("node-1", 4599);
  EXPECT_EQ(sick_at(4599), Names({"node-1"}));
  EXPECT_EQ(sick_at(4599 + 3599), Names({"node-1"}));
  EXPECT_EQ(sick_at(4599 + 3600), Names());
}

TEST_F(SickNodes, AFailureLongAfterTheOtherIsTheFirst) {
  fail("node-1", 1000);
  fail("node-1", 4600);
  EXPECT_EQ(sick_at(4600), Names());
  EXPECT_EQ(seen_.job.status.failed_nodes.size(), 1U);
}

TEST_F(SickNodes, OneFailureIsCountedOnce) {
  fail("node-1", 1000);
  seen_.wall_now = wall(1010);
  record_failed_nodes(seen_, {.members = {}, .restarts = {}}, seen_.job.status);
  EXPECT_EQ(sick_at(1010), Names());
  fail("", 1020);
  EXPECT_EQ(seen_.job.status.failed_nodes.size(), 1U) << "who had no node failed nowhere";
}

TEST_F(SickNodes, WhoAvoidsNoNodeCountsNothing) {
  seen_.job.spec.disruption_policy.avoid_node_seconds = 0;
  fail("node-1", 1000);
  fail("node-1", 1001);
  EXPECT_TRUE(seen_.job.status.failed_nodes.empty());
  seen_.job.status.failed_nodes = {{.name = "node-1", .failures = 2, .time = wall(1000)}};
  EXPECT_EQ(sick_at(1001), Names()) << "they were counted before";
}

TEST_F(SickNodes, TheListIsBoundedAndLosesTheOldest) {
  for (std::size_t i = 0; i <= api::kFailedNodesMax; ++i) fail("node-" + std::to_string(i), 1000);
  ASSERT_EQ(seen_.job.status.failed_nodes.size(), api::kFailedNodesMax);
  EXPECT_EQ(seen_.job.status.failed_nodes.front().name, "node-1");
}

TEST(SickNodesInADecision, TheNextPodRatherGoesElsewhere) {
  auto seen = test::running(test::job(2));
  seen.job.status.failed_nodes = {{.name = "node-1", .failures = 1, .time = seen.wall_now}};
  seen.pods[0] = test::ended_pod(0, 1);
  const auto decision = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(decision.status.failed_nodes.size(), 1U);
  EXPECT_EQ(decision.status.failed_nodes[0].failures, 2U);
  seen.job.status = decision.status;
  seen.job.status.members[0].next_pod_not_before.reset();
  const auto made = test::only<CreatePod>(reconcile(seen, test::at_seconds(1)));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].faulty_nodes, Names({"node-1"}));
  EXPECT_TRUE(made[0].avoid_nodes.empty()) << "where nothing else is free it may go there";
}

TEST(SickNodesInADecision, ANodeWhoseKubeletRefusesTwiceIsLeftToOthers) {
  auto seen = test::running(test::job(2));
  seen.job.status.failed_nodes = {{.name = "node-1", .failures = 1, .time = seen.wall_now}};
  auto& pod = seen.pods[0] = test::pod(0);
  pod.phase = api::PodPhase::kFailed;
  pod.node = "node-1";
  pod.kubelet_rejection = "OutOfnvidia.com/gpu: Node didn't have enough resource";
  const auto decision = reconcile(seen, test::at_seconds(1));
  ASSERT_EQ(decision.status.failed_nodes.size(), 1U);
  EXPECT_EQ(decision.status.failed_nodes[0].failures, 2U);
  seen.job.status = decision.status;
  seen.job.status.members[0].next_pod_not_before.reset();
  const auto made = test::only<CreatePod>(reconcile(seen, test::at_seconds(1)));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].faulty_nodes, Names({"node-1"}));
}

std::vector<std::string> devices_told_of(const Decision& decision) {
  std::vector<std::string> told;
  for (const auto& event : test::only<EmitEvent>(decision))
    if (event.reason == "DeviceUnusable") told.push_back(event.message);
  return told;
}

TEST(SickNodesInADecision, ANodeWithAnUnusableAcceleratorIsAvoidedFromTheFirstTimeOn) {
  auto seen = test::running(test::job(2));
  seen.pods[0] = test::ended_pod(0, 85);
  seen.pods[0].node = "node-1";
  const auto decision = reconcile(seen, test::at_seconds(1));
  const auto told = devices_told_of(decision);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].starts_with(
      "node-1: its accelerator is unusable, as digits-worker-0-i0 reported; members avoid"))
      << told[0];
  EXPECT_EQ(decision.status.restarts.application, 0U) << "the program is not to blame";
  ASSERT_EQ(decision.status.failed_nodes.size(), 1U);
  seen.job.status = decision.status;
  const auto made = test::only<CreatePod>(reconcile(seen, test::at_seconds(1)));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].faulty_nodes, Names({"node-1"}));
  EXPECT_TRUE(made[0].avoid_nodes.empty()) << "where nothing else is free it may go there";
}

TEST(SickNodesInADecision, AJobThatAvoidsNoNodeIsToldOfTheAcceleratorAlone) {
  auto seen = test::running(test::job(2));
  seen.job.spec.disruption_policy.avoid_node_seconds = 0;
  seen.pods[0] = test::ended_pod(0, 85);
  seen.pods[0].node = "node-1";
  const auto decision = reconcile(seen, test::at_seconds(1));
  const auto told = devices_told_of(decision);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].find("avoid"), std::string::npos) << told[0];
  EXPECT_TRUE(decision.status.failed_nodes.empty());
}

TEST(SickNodesInADecision, AnAbortThatIsOverdueSaysNothingAboutTheNode) {
  auto seen = test::running(test::job(2));
  seen.pods[0] = test::ended_pod(0, 86);
  seen.pods[0].node = "node-1";
  const auto decision = reconcile(seen, test::at_seconds(1));
  EXPECT_TRUE(devices_told_of(decision).empty());
  EXPECT_TRUE(decision.status.failed_nodes.empty());
}

}  // namespace
}  // namespace ratoon::core::faulty_nodes_test
