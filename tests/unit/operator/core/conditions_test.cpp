#include "operator/core/status/conditions.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::conditions_test {
namespace {

using api::JobPhase;
using test::wall;

Observation trains() {
  Observation seen = test::running(test::job(2));
  seen.wall_now = wall(100);
  seen.job.meta.generation = 3;
  return seen;
}

const api::Condition* find(const api::TrainingJobStatus& status, const std::string& type) {
  const auto& all = status.conditions;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.type == type; });
  return found == all.end() ? nullptr : &*found;
}

api::TrainingJobStatus decided(const Observation& seen) {
  return reconcile(seen, test::at_seconds(1)).status;
}

TEST(Conditions, AppearWhenTheyFirstHold) {
  const auto status = decided(trains());
  ASSERT_NE(find(status, "Running"), nullptr);
  EXPECT_TRUE(find(status, "Running")->is_true);
  EXPECT_EQ(find(status, "Running")->reason, "WorldFormed");
  EXPECT_EQ(find(status, "Running")->message, "attempt 1 trains with 2 processes");
  EXPECT_EQ(find(status, "Running")->observed_generation, 3U);
  EXPECT_EQ(find(status, "Recovering"), nullptr);
  EXPECT_EQ(find(status, "Succeeded"), nullptr);
  EXPECT_EQ(status.observed_generation, 3U);
  EXPECT_EQ(status.replicas, 2U);
}

TEST(Conditions, TheSelectorIsOfThePodsThatAreCountedAndIsWrittenWithOtherNews) {
  auto seen = trains();
  seen.job.meta.uid = "u";
  EXPECT_EQ(decided(seen).pod_selector, "ratoon.dev/job-uid=u,ratoon.dev/role in (worker)");

  seen.job.status = decided(seen);
  seen.job.status.pod_selector.clear();  // an operator wrote it that knew of none
  EXPECT_EQ(decided(seen), seen.job.status) << "no write for its sake alone";
  seen.job.meta.generation = 4;
  EXPECT_EQ(decided(seen).pod_selector, "ratoon.dev/job-uid=u,ratoon.dev/role in (worker)");

  seen.job.spec.roles[0].replicas = 2;
  EXPECT_EQ(decided(seen).pod_selector, "") << "numNodes sizes nobody";
}

TEST(Conditions, KeepTheirTimeWhileTheirTruthStays) {
  auto seen = trains();
  seen.job.status = decided(seen);
  seen.wall_now = wall(200);
  EXPECT_EQ(decided(seen), seen.job.status) << "nothing changed: nothing is written";

  seen.pods[1].is_deleting = true;  // a member is lost
  const auto status = decided(seen);
  EXPECT_FALSE(find(status, "Running")->is_true);
  EXPECT_EQ(find(status, "Running")->since, wall(200));
  EXPECT_EQ(find(status, "Running")->reason, "MembersMissing");
  EXPECT_TRUE(find(status, "Recovering")->is_true);
  EXPECT_EQ(find(status, "Recovering")->since, wall(200));
  EXPECT_EQ(find(status, "Scheduled")->since, wall(100));
}

TEST(Conditions, TheMessageCarriesTheKubeletsWordsWhileAContainerDoesNotStart) {
  Observation seen{.job = test::new_job(1)};
  seen.wall_now = wall(100);
  seen.pods = {test::pod(0)};
  seen.pods[0].phase = api::PodPhase::kPending;
  seen.pods[0].unstarted_reason = "ErrImagePull: not found";
  seen.job.status = decided(seen);
  const std::string& message = seen.job.status.message;
  EXPECT_TRUE(message.ends_with("; digits-worker-0-i0 does not start: ErrImagePull: not found")) << message;
}

TEST(Conditions, CarryTheSchedulersWordsWhileNoNodeTakesAMember) {
  Observation seen{.job = test::new_job(1)};
  seen.wall_now = wall(100);
  seen.pods = {test::pod(0)};
  seen.pods[0].node.clear();
  seen.pods[0].phase = api::PodPhase::kPending;
  EXPECT_EQ(find(decided(seen), "Scheduled"), nullptr) << "the scheduler has not spoken yet";
  seen.pods[0].unplaced_reason = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.";
  seen.job.status = decided(seen);
  const auto* scheduled = find(seen.job.status, "Scheduled");
  ASSERT_NE(scheduled, nullptr);
  EXPECT_FALSE(scheduled->is_true);
  EXPECT_EQ(scheduled->reason, "Unschedulable");
  EXPECT_EQ(scheduled->message,
            "no node takes digits-worker-0-i0: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
  seen.pods[0].unplaced_reason.clear();
  seen.pods[0].node = "node-1";
  seen.wall_now = wall(150);
  const auto placed = decided(seen);
  EXPECT_TRUE(find(placed, "Scheduled")->is_true);
  EXPECT_EQ(find(placed, "Scheduled")->since, wall(150));
  EXPECT_EQ(find(placed, "Scheduled")->message, "");
}

TEST(Conditions, SayWhyPodsAreRefused) {
  Observation seen{.job = test::new_job(1)};
  seen.wall_now = wall(100);
  seen.refusal = "creating pod digits-worker-0-i0: exceeded quota: gpus";
  const auto status = decided(seen);
  const auto* scheduled = find(status, "Scheduled");
  ASSERT_NE(scheduled, nullptr);
  EXPECT_FALSE(scheduled->is_true);
  EXPECT_EQ(scheduled->reason, "PodRefused");
  EXPECT_EQ(scheduled->message, seen.refusal);
  EXPECT_NE(status.message.find("exceeded quota"), std::string::npos) << status.message;
  EXPECT_EQ(status.ledger.part, api::TimeLedgerPart::kWaitingForCapacity);
}

// Four train, and the quota has no room for the fifth that the job may have.
TEST(Conditions, ARefusedPodThatTheJobCanDoWithoutLeavesItScheduled) {
  auto seen = test::running(test::job(4));
  seen.job.spec.elastic_policy = {.members_min = 2, .members_max = 5};
  for (auto& member : seen.job.status.members) member.node = "node-" + std::to_string(member.index);
  for (auto& pod : seen.pods) pod.node = "node-" + std::to_string(pod.index);
  auto extra = seen.job.status.members[0];
  extra = {.role = extra.role, .index = 4, .is_absent = true};
  seen.job.status.members.push_back(extra);
  seen.refusal = "creating pod digits-worker-4-i0: exceeded quota: gpus";
  const auto status = decided(seen);
  const auto* scheduled = find(status, "Scheduled");
  ASSERT_NE(scheduled, nullptr);
  EXPECT_TRUE(scheduled->is_true) << scheduled->message;
  seen.is_template_refused = true;
  EXPECT_EQ(find(decided(seen), "Scheduled")->reason, "PodRefused");
  seen.is_template_refused = false;
  seen.job.spec.elastic_policy.reset();
  seen.job.spec.num_nodes = 5;
  seen.job.status.members[4].is_absent = false;
  EXPECT_EQ(find(decided(seen), "Scheduled")->reason, "PodRefused") << "all five must train";
}

TEST(Conditions, ATemplateThatNoPodIsMadeFromIsAnInvalidSpec) {
  Observation seen{.job = test::new_job(1)};
  seen.wall_now = wall(100);
  seen.refusal = "creating pod digits-worker-0-i0: the API server answers 403 Forbidden: no such account";
  EXPECT_EQ(find(decided(seen), "InvalidSpec"), nullptr) << "it may be let in later, with the same template";
  seen.refusal = "creating pod digits-worker-0-i0: the API server answers 422 Invalid: no such volume";
  seen.is_template_refused = true;
  seen.job.status = decided(seen);
  const auto* invalid = find(seen.job.status, "InvalidSpec");
  ASSERT_NE(invalid, nullptr);
  EXPECT_TRUE(invalid->is_true);
  EXPECT_EQ(invalid->reason, "TemplateRefused");
  EXPECT_EQ(invalid->message, seen.refusal);
  EXPECT_EQ(find(seen.job.status, "Scheduled")->reason, "PodRefused") << "and no node takes it";
}

TEST(Conditions, AnInvalidSpecIsMendedByThePodsThatAreMade) {
  Observation seen{.job = test::new_job(1), .refusal = "no such volume", .is_template_refused = true};
  seen.wall_now = wall(100);
  seen.job.status = decided(seen);
  seen.wall_now = wall(200);
  seen.refusal.clear();  // by a leader that has not asked yet
  seen.is_template_refused = false;
  EXPECT_TRUE(find(decided(seen), "InvalidSpec")->is_true);
  seen.job.spec.is_suspended = true;
  EXPECT_TRUE(find(decided(seen), "InvalidSpec")->is_true) << "nobody asks for pods of it";
  seen.job.spec.is_suspended = false;
  auto over_quota = seen;
  over_quota.refusal = "exceeded quota: gpus";
  EXPECT_FALSE(find(decided(over_quota), "InvalidSpec")->is_true) << "the template was read, and is one";
  seen.pods = {test::pod(0)};
  const auto status = decided(seen);
  EXPECT_FALSE(find(status, "InvalidSpec")->is_true);
  EXPECT_EQ(find(status, "InvalidSpec")->reason, "Mended");
  EXPECT_EQ(find(status, "InvalidSpec")->since, wall(200));
}

TEST(Conditions, AnEndIsOneOfTwo) {
  auto seen = trains();
  for (auto& one : seen.processes) one.is_completed = true;
  auto status = decided(seen);
  EXPECT_TRUE(find(status, "Succeeded")->is_true);
  EXPECT_EQ(find(status, "Failed"), nullptr);

  seen = trains();
  seen.job.status = decided(seen);
  seen.pods[0] = test::ended_pod(0, 82);
  status = decided(seen);
  EXPECT_TRUE(find(status, "Failed")->is_true);
  EXPECT_EQ(find(status, "Failed")->message, status.message);
  EXPECT_FALSE(find(status, "Running")->is_true);
  EXPECT_EQ(find(status, "Succeeded"), nullptr);
}

TEST(Conditions, ReplicasAreThoseThatNumNodesSizes) {
  auto seen = trains();
  seen.job.spec.roles.front().replicas = 2;
  EXPECT_EQ(decided(seen).replicas, 0U);
}

}  // namespace
}  // namespace ratoon::core::conditions_test
