#include "operator/core/world/release_nodes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::release_nodes_test {
namespace {

using api::JobPhase;
using api::TimeLedgerPart;
using test::process;
using test::wall;

constexpr std::uint32_t kLimit = 60;

// A job of two members, of which one has a node. No node takes the other one.
class ReleaseNodes : public testing::Test {
 protected:
  ReleaseNodes() {
    seen_.job = test::new_job(2);
    seen_.job.meta.uid = "job";
    seen_.job.meta.generation = 1;
    seen_.job.spec.release_after_seconds = kLimit;
    at(0);
    place_first();
  }

  const Decision& at(int second) {
    seen_.wall_now = wall(second);
    for (auto& process : seen_.processes) process.last_heard = test::at_seconds(second);
    decision_ = reconcile(seen_, test::at_seconds(second));
    test::store(decision_, "", seen_);
    for (auto& pod : seen_.pods)
      if (pod.node.empty()) pod.phase = api::PodPhase::kPending;
    for (const auto& gone : test::only<DeletePod>(decision_))
      for (auto& pod : seen_.pods) pod.is_deleting = pod.is_deleting || pod.uid == gone.uid;
    return decision_;
  }
  void place_first() {
    seen_.pods.at(0).node = "node-1";
    seen_.pods.at(0).phase = api::PodPhase::kRunning;
    seen_.pods.at(1).unplaced_reason = "0/1 nodes are available";
    seen_.processes = {test::waiting(process(0, seen_.pods.at(0).incarnation))};
  }
  // The job lacks a node from second 10 on, and frees its own after that time.
  void release() {
    at(10);
    at(10 + kLimit);
    ASSERT_TRUE(is_released(seen_.job.status));
  }
  void end_pods() {
    seen_.pods.clear();
    seen_.processes.clear();
  }
  [[nodiscard]] const api::TrainingJobStatus& status() const { return seen_.job.status; }
  [[nodiscard]] int pause_ends_at() const {
    return static_cast<int>(std::ceil(seconds(status().capacity_wait->retry_at->since_epoch)));
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> reasons;
    for (const auto& event : test::only<EmitEvent>(decision_)) reasons.push_back(event.reason);
    return reasons;
  }
  [[nodiscard]] const api::Condition& condition(const std::string& type) const {
    return *std::ranges::find(status().conditions, type, &api::Condition::type);
  }

  Observation seen_;
  Decision decision_;
};
using Reasons = std::vector<std::string>;

TEST_F(ReleaseNodes, AJobFreesItsNodesWhenItLackedOthersForSoLong) {
  const auto& waits = at(10);
  EXPECT_EQ(status().capacity_wait, api::CapacityWait{.since = wall(10)});
  EXPECT_TRUE(
      status().message.ends_with("frees its nodes at 1970-01-01T00:01:10.000Z unless the next world has "
                                 "nodes by then"))
      << status().message;
  EXPECT_TRUE(waits.wake_at && *waits.wake_at <= test::at_seconds(10 + kLimit));
  at(9 + kLimit);
  EXPECT_FALSE(is_released(status()));
  at(10 + kLimit);
  ASSERT_TRUE(is_released(status()));
  EXPECT_EQ(events(), Reasons({"NodesReleased"}));
  EXPECT_EQ(test::only<DeletePod>(decision_).size(), 2U) << "the pod without a node goes, too";
  EXPECT_TRUE(test::only<CreatePod>(decision_).empty());
  EXPECT_EQ(status().phase, JobPhase::kPending);
  EXPECT_EQ(status().restarts, api::Restarts()) << "a release costs no budget";
  EXPECT_TRUE(status().message.starts_with(
      "freed its nodes after releaseAfterSeconds (60), when 1 member has a node and no node takes "
      "digits-worker-1-i0: 0/1 nodes are available; asks for nodes again at "))
      << status().message;
  EXPECT_FALSE(condition("Scheduled").is_true);
  EXPECT_EQ(condition("Scheduled").reason, "NodesReleased");
  EXPECT_EQ(condition("Scheduled").message, status().message);
  EXPECT_EQ(status().ledger.part, TimeLedgerPart::kWaitingForCapacity);
  EXPECT_EQ(status().members[0].incarnation, 1U);
  EXPECT_EQ(status().members[0].uid, "");
}

TEST_F(ReleaseNodes, AJobWithoutTheFieldHoldsItsNodes) {
  seen_.job.spec.release_after_seconds = 0;
  at(10);
  at(100000);
  EXPECT_FALSE(status().capacity_wait);
  EXPECT_TRUE(test::only<DeletePod>(decision_).empty());
}

TEST_F(ReleaseNodes, APauseEndsWhenItsTimeIsOverAndThePodsAreGone) {
  release();
  const int end = pause_ends_at();
  EXPECT_TRUE(at(11 + kLimit).actions.empty()) << "a pause needs nothing";
  EXPECT_EQ(decision_.wake_at, test::at_seconds(seconds(status().capacity_wait->retry_at->since_epoch)));
  at(end);
  EXPECT_TRUE(is_released(status())) << "its former pods still end";
  EXPECT_EQ(status().message, "waits until its former pods are gone, and then asks for nodes again");
  end_pods();
  at(end + 1);
  EXPECT_FALSE(is_released(status()));
  EXPECT_EQ(events(), Reasons({"NodesRequested"}));
  EXPECT_EQ(test::only<CreatePod>(decision_).size(), 2U);
  EXPECT_EQ(status().capacity_wait, api::CapacityWait{.release_count = 1});
  EXPECT_EQ(status().ledger.seconds[static_cast<std::size_t>(TimeLedgerPart::kWaitingForCapacity)],
            end + 1 - 10);
}

TEST_F(ReleaseNodes, APodOnALostNodeDoesNotHoldUpTheJob) {
  release();
  seen_.nodes = {{.name = "node-1", .is_lost = true}};
  seen_.pods.pop_back();
  at(pause_ends_at());
  EXPECT_FALSE(is_released(status()));
}

TEST_F(ReleaseNodes, ALateCopyOfAFormerPodIsDeleted) {
  release();
  end_pods();
  seen_.pods = {test::pod(1)};
  at(12 + kLimit);
  EXPECT_EQ(test::only<DeletePod>(decision_).size(), 1U);
  EXPECT_TRUE(is_released(status()));
}

TEST_F(ReleaseNodes, AChangeOfTheSpecEndsThePause) {
  release();
  ++seen_.job.meta.generation;
  at(11 + kLimit);
  EXPECT_TRUE(is_released(status())) << "its former pods still end";
  end_pods();
  at(12 + kLimit);
  EXPECT_FALSE(is_released(status()));
  EXPECT_FALSE(status().capacity_wait) << "the pauses begin again with the shortest one";
}

TEST_F(ReleaseNodes, ASuspensionEndsThePause) {
  release();
  end_pods();
  seen_.job.spec.is_suspended = true;
  at(11 + kLimit);
  EXPECT_EQ(status().phase, JobPhase::kSuspended);
  EXPECT_FALSE(status().capacity_wait);
}

TEST_F(ReleaseNodes, AWorldEndsTheWait) {
  at(10);
  seen_.pods[1].node = "node-2";
  seen_.pods[1].phase = api::PodPhase::kRunning;
  seen_.pods[1].unplaced_reason.clear();
  at(20);
  EXPECT_FALSE(status().capacity_wait) << "all have a node";
  seen_.processes = {test::waiting(process(0), 0, {}, 21), test::waiting(process(1), 0, {}, 21)};
  at(21);
  EXPECT_TRUE(status().is_world_formed);
  seen_.job.status.capacity_wait = api::CapacityWait{.since = wall(1), .release_count = 3};
  at(22);
  EXPECT_FALSE(status().capacity_wait) << "the pauses begin again with the shortest one";
}

// The scheduler has to look at a new pod first, which says nothing about the nodes.
TEST_F(ReleaseNodes, APodThatIsMadeAnewDoesNotInterruptTheWait) {
  at(10);
  const std::string why = std::exchange(seen_.pods[1].unplaced_reason, "");
  at(10 + kLimit);
  EXPECT_FALSE(is_released(status())) << "no scheduler has looked at it";
  EXPECT_EQ(status().capacity_wait->since, wall(10));
  seen_.pods[1].unplaced_reason = why;
  at(11 + kLimit);
  EXPECT_TRUE(is_released(status()));
}

TEST_F(ReleaseNodes, AJobThatHoldsNoNodeHasNoneToFree) {
  seen_.pods[0].node.clear();
  seen_.pods[0].phase = api::PodPhase::kPending;
  seen_.pods[0].unplaced_reason = "0/1 nodes are available";
  seen_.processes.clear();
  at(10);
  at(1000);
  EXPECT_FALSE(status().capacity_wait);
  place_first();
  at(1001);
  EXPECT_EQ(status().capacity_wait->since, wall(1001)) << "the time counts from the first node on";
}

TEST_F(ReleaseNodes, AQuotaIsALackOfCapacityAndABadTemplateIsNone) {
  seen_.pods.pop_back();
  seen_.job.status.members[1].uid.clear();
  seen_.refusal = "exceeded quota: gpus";
  at(10);
  seen_.pods.pop_back();  // the server refused it again
  ASSERT_TRUE(status().capacity_wait);
  seen_.is_template_refused = true;
  seen_.job.status.capacity_wait.reset();
  at(11);
  EXPECT_FALSE(status().capacity_wait);
  seen_.pods.pop_back();
  seen_.is_template_refused = false;
  seen_.job.status.capacity_wait = api::CapacityWait{.since = wall(10)};
  at(10 + kLimit);
  EXPECT_TRUE(is_released(status()));
  EXPECT_NE(status().message.find("digits-worker-1-i0 is refused: exceeded quota: gpus"), std::string::npos)
      << status().message;
}

TEST_F(ReleaseNodes, AnElasticJobWithEnoughMembersReleasesNothing) {
  seen_.job.spec.elastic_policy = api::ElasticPolicy{.members_min = 1, .shrink_after_seconds = 3600};
  at(10);
  at(10 + kLimit);
  EXPECT_FALSE(status().capacity_wait) << "it forms a world of one member by itself";
  seen_.job.spec.elastic_policy->members_min = 2;
  at(100);
  at(100 + kLimit);
  EXPECT_TRUE(is_released(status()));
}

TEST_F(ReleaseNodes, AMemberThatWaitsForItsPauseAfterAFailureIsNoLackOfCapacity) {
  seen_.pods.pop_back();
  seen_.job.status.members[1].uid.clear();
  seen_.job.status.members[1].next_pod_not_before = wall(5000);
  seen_.refusal = "exceeded quota: gpus";
  at(10);
  EXPECT_FALSE(status().capacity_wait);
}

TEST_F(ReleaseNodes, AMemberThatIsDoneNeedsNoNode) {
  seen_.job.status.members[1].is_completed = true;
  at(10);
  EXPECT_FALSE(status().capacity_wait);
}

TEST_F(ReleaseNodes, AJobKeepsNodesThatHaveTheOnlyCheckpoint) {
  seen_.job.status.last_checkpoint = test::resume_point(1, 40);
  seen_.job.status.last_checkpoint_tier = "local";
  at(10);
  at(10 + kLimit);
  EXPECT_FALSE(is_released(status()));
  EXPECT_TRUE(
      status().message.ends_with("; keeps its nodes, since the checkpoint of step 40 is only on their disks"))
      << status().message;
  seen_.processes = {test::waiting(process(0), 1, {test::checkpoint(1, 40, "store")}, 70)};
  at(11 + kLimit);
  EXPECT_TRUE(is_released(status())) << "a member found it in a store";
}

TEST_F(ReleaseNodes, TheRecoveryGoesOnDuringAPause) {
  seen_ = test::running(test::job(2));
  seen_.job.spec.release_after_seconds = kLimit;
  seen_.pods[1].is_deleting = true;
  at(1);
  ASSERT_TRUE(status().open_recovery);
  seen_.pods.erase(seen_.pods.begin() + 1);
  seen_.pods[1].unplaced_reason = "0/1 nodes are available";
  seen_.processes = {test::waiting(process(0), 1, {}, 10)};
  at(10);
  at(10 + kLimit);
  ASSERT_TRUE(is_released(status()));
  EXPECT_EQ(status().phase, JobPhase::kRecovering);
  EXPECT_EQ(condition("Recovering").message, status().message);
  EXPECT_TRUE(status().open_recovery);
  at(11 + kLimit);
  EXPECT_TRUE(status().open_recovery);
  EXPECT_EQ(status().restarts.disruption, 1U) << "the loss alone";
}

TEST_F(ReleaseNodes, TheTimeLimitOfTheJobGoesOnDuringAPause) {
  seen_.job.spec.max_duration_seconds = 80;
  release();
  ASSERT_TRUE(decision_.wake_at);
  EXPECT_LE(*decision_.wake_at, test::at_seconds(80));
}

TEST(PauseAfterRelease, GrowsAndIsBounded) {
  api::TrainingJob job = test::job();
  job.spec.release_after_seconds = 100;
  Duration last(0);
  for (std::uint32_t number = 1; number <= 4; ++number) {
    const Duration pause = pause_after_release(job, number);
    EXPECT_GT(pause, last);
    EXPECT_GE(pause, std::chrono::seconds(50 << (number - 1)));
    EXPECT_LE(pause, std::chrono::seconds(100 << (number - 1)));
    EXPECT_EQ(pause, pause_after_release(job, number)) << "each operator computes the same pause";
    last = pause;
  }
  for (const std::uint32_t number : {5U, 6U, 100U, 4000000000U}) {
    EXPECT_GE(pause_after_release(job, number), std::chrono::seconds(400));
    EXPECT_LE(pause_after_release(job, number), std::chrono::seconds(800));
  }
  EXPECT_NE(pause_after_release(job, 5), pause_after_release(job, 6));
}

TEST(PauseAfterRelease, DiffersBetweenJobs) {
  api::TrainingJob one = test::job();
  one.spec.release_after_seconds = 100;
  api::TrainingJob other = one;
  other.meta.uid = "other";
  EXPECT_NE(pause_after_release(one, 1), pause_after_release(other, 1));
  other = one;
  other.meta.name_space = "other";
  EXPECT_NE(pause_after_release(one, 1), pause_after_release(other, 1));
}

// A leader whose clock was ahead has stored the end of the pause.
TEST_F(ReleaseNodes, ThePauseIsNotLongerAlthoughTheClockWentBack) {
  constexpr int kAhead = 24 * 3600;
  at(kAhead);
  at(kAhead + kLimit);
  ASSERT_TRUE(is_released(status()));
  end_pods();
  at(100);
  ASSERT_TRUE(is_released(status()));
  const int ends_at = pause_ends_at();
  EXPECT_LE(ends_at, 100 + static_cast<int>(kLimit));
  at(ends_at);
  EXPECT_FALSE(is_released(status()));
}

}  // namespace
}  // namespace ratoon::core::release_nodes_test
