#include "operator/core/status/waiting_reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::waiting_reason_test {
namespace {

using test::wall;
using testing::HasSubstr;
using testing::Not;

// A new job of one member, whose pod the API server has since second 10.
Observation begun() {
  Observation seen{.job = test::new_job(1)};
  seen.job.status = reconcile(seen, test::at_seconds(1)).status;
  seen.pods = {test::pod(0)};
  seen.pods[0].node.clear();
  seen.pods[0].phase = api::PodPhase::kPending;
  seen.pods[0].scheduler = "nope";
  seen.pods[0].pending_since = wall(10);
  return seen;
}

Decision decided(Observation& seen, int at) {
  seen.wall_now = wall(at);
  return reconcile(seen, test::at_seconds(1));
}

const api::Condition* scheduled(const api::TrainingJobStatus& status) {
  for (const auto& condition : status.conditions)
    if (condition.type == "Scheduled") return &condition;
  return nullptr;
}

TEST(WhyWaiting, ASchedulerThatDoesNotExistSaysNothing) {
  auto seen = begun();
  seen.job.status = decided(seen, 11).status;  // the UID of the pod is noted
  auto decision = decided(seen, 39);
  EXPECT_EQ(decision.status.message, "0 of 1 processes are ready for attempt 1");
  EXPECT_EQ(decision.wake_at, test::at_seconds(2)) << "when half a minute is over";
  decision = decided(seen, 40);
  const std::string why =
      "no scheduler has reported anything about digits-worker-0-i0 since 1970-01-01T00:00:10.000Z: check "
      "that "
      "'nope' runs, or name another schedulerName in the role's template";
  EXPECT_EQ(decision.status.message, "0 of 1 processes are ready for attempt 1; " + why);
  ASSERT_NE(scheduled(decision.status), nullptr);
  EXPECT_EQ(scheduled(decision.status)->reason, "NoScheduler");
  EXPECT_EQ(scheduled(decision.status)->message, why);
  seen.job.status = decision.status;
  EXPECT_EQ(decided(seen, 400).status, seen.job.status) << "time alone is no news";

  seen.pods[0].unplaced_reason = "persistentvolumeclaim \"ckpt\" not found";
  EXPECT_EQ(decided(seen, 401).status.message,
            "0 of 1 processes are ready for attempt 1; no node takes digits-worker-0-i0: "
            "persistentvolumeclaim \"ckpt\" not found");
}

// A memory limit of one byte: the kubelet cannot make the sandbox, and only its events say so.
TEST(WhyWaiting, AKubeletThatStartsNoContainerAndWritesNoReason) {
  auto seen = begun();
  seen.pods[0].node = "node-1";
  seen.job.status = decided(seen, 11).status;
  auto decision = decided(seen, 69);
  EXPECT_THAT(decision.status.message, Not(HasSubstr("kubectl")));
  EXPECT_EQ(decision.wake_at, test::at_seconds(2));
  EXPECT_EQ(decided(seen, 70).status.message,
            "0 of 1 processes are ready for attempt 1; digits-worker-0-i0 is on node-1 since "
            "1970-01-01T00:00:10.000Z and no container of it has started: `kubectl describe pod "
            "digits-worker-0-i0` shows its kubelet's messages about image, volumes and limits");
  seen.pods[0].unstarted_reason = "ErrImagePull: no such image";
  EXPECT_EQ(decided(seen, 70).status.message,
            "0 of 1 processes are ready for attempt 1; digits-worker-0-i0 does not start: ErrImagePull: no "
            "such image");
  seen.pods[0].unstarted_reason.clear();
  seen.pods[0].pending_since.reset();  // an init container has run
  EXPECT_THAT(decided(seen, 70).status.message, Not(HasSubstr("kubectl")));
}

// `os: windows` on a node with Linux: the kubelet refuses the pod, and so it will refuse the next one.
TEST(WhyWaiting, AKubeletThatRefusesThePodIsQuotedWhileItsMemberWaits) {
  auto seen = begun();
  seen.pods[0].node = "node-1";
  seen.job.status = decided(seen, 11).status;
  seen.pods[0].phase = api::PodPhase::kFailed;
  seen.pods[0].pending_since.reset();
  seen.pods[0].kubelet_rejection =
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS";
  EXPECT_THAT(
      decided(seen, 12).status.message,
      HasSubstr("is created again after a pause, at 1970-01-01T00:00:13.000Z, because of a failure on "
                "node-1: its kubelet did not start it: PodOSNotSupported: Failed to admit pod"));
}

}  // namespace
}  // namespace ratoon::core::waiting_reason_test
