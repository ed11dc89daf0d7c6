#include "cli/cluster/reader/reader_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cluster/reader/pod_refusal.h"

namespace ratoon::cli::reader_state_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json placed_pod() {
  return json::parse(R"({"metadata": {"name": "digits-reader-x"}, "spec": {"nodeName": "n0", "containers": [
    {"name": "reader", "image": "example.org/o:1"}]}, "status": {"phase": "Pending"}})");
}

json pod_with(const char* state) {
  json pod = placed_pod();
  pod["status"]["containerStatuses"] =
      json::array({{{"name", "sidecar"}, {"state", {{"running", json::object()}}}}, {{"name", "reader"}}});
  pod["status"]["containerStatuses"][1]["state"] = json::parse(state);
  return pod;
}

TEST(ReaderStateTest, APodThatWaitsSaysWhatFor) {
  json pod = json::parse(R"({"spec": {}, "status": {"phase": "Pending"}})");
  EXPECT_EQ(reader_state(pod).why, "the scheduler has not placed the pod yet");
  pod["status"]["conditions"] = json::parse(R"([{"type": "PodScheduled", "status": "False",
    "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}])");
  EXPECT_EQ(reader_state(pod).phase, ReaderPhase::kWaiting) << "an autoscaler may add a node";
  EXPECT_EQ(reader_state(pod).why, "no node takes the pod: 0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_EQ(reader_state(placed_pod()).why, "node n0 has not started the pod yet");
  EXPECT_EQ(reader_state(pod_with(R"({"waiting": {"reason": "ContainerCreating"}})")).why,
            "node n0 prepares the volumes and the image of the pod");
}

TEST(ReaderStateTest, AFailedPullIsRepeatedOnceAndThenTold) {
  const auto once =
      reader_state(pod_with(R"({"waiting": {"reason": "ErrImagePull", "message": "not found"}})"));
  EXPECT_EQ(once.phase, ReaderPhase::kWaiting);
  EXPECT_EQ(once.why, "node n0 cannot pull the image example.org/o:1: not found");
  for (const char* reason : {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}) {
    const auto state =
        reader_state(pod_with((R"({"waiting": {"reason": ")" + std::string(reason) + "\"}}").c_str()));
    EXPECT_EQ(state.phase, ReaderPhase::kCannotRun) << reason;
    EXPECT_THAT(state.why, HasSubstr("name another image that has the command `ratoon` with --image"));
  }
}

TEST(ReaderStateTest, AContainerThatCannotStartDoesNotWait) {
  const auto secret = reader_state(pod_with(
      R"({"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"aws\" not found"}})"));
  EXPECT_EQ(secret.phase, ReaderPhase::kCannotRun);
  EXPECT_EQ(secret.why, "node n0 cannot start the container: secret \"aws\" not found");
  const auto old_image = reader_state(
      pod_with(R"({"terminated": {"reason": "StartError", "message": "exec: \"ratoon\": not found"}})"));
  EXPECT_EQ(old_image.phase, ReaderPhase::kCannotRun);
  EXPECT_THAT(old_image.why, HasSubstr("the image example.org/o:1 cannot run the command `ratoon`"));
  EXPECT_THAT(old_image.why, HasSubstr("upgrade the operator, or name another image with --image"));
  json refused = placed_pod();
  refused["status"] = json::parse(R"({"phase": "Failed", "reason": "OutOfpods", "message": "full"})");
  EXPECT_EQ(reader_state(refused).why, "the pod failed on node n0 before it started: OutOfpods: full");
  EXPECT_EQ(reader_state(refused).phase, ReaderPhase::kCannotRun);
  json deleted = placed_pod();
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(reader_state(deleted).phase, ReaderPhase::kCannotRun);
}

TEST(ReaderStateTest, ARunningOrEndedReaderHasALog) {
  EXPECT_EQ(reader_state(pod_with(R"({"running": {}})")).phase, ReaderPhase::kStarted);
  EXPECT_EQ(reader_state(pod_with(R"({"terminated": {"exitCode": 82, "reason": "Error"}})")).phase,
            ReaderPhase::kStarted);
}

TEST(ReaderStateTest, TheNewestWarningIsAddedAndAVolumeInUseIsExplained) {
  const ReaderState state = {.why = "node n0 has not started the pod yet"};
  EXPECT_EQ(explain_wait(state, {}), state.why);
  const std::vector<json> events = {
      json::parse(
          R"({"type": "Warning", "reason": "FailedAttachVolume", "lastTimestamp": "2026-01-01T00:00:02Z",
                      "message": "Multi-Attach error for volume \"pvc-1\""})"),
      json::parse(R"({"type": "Warning", "reason": "FailedMount", "lastTimestamp": "2026-01-01T00:00:01Z"})"),
      json::parse(R"({"type": "Normal", "reason": "Scheduled", "lastTimestamp": "2026-01-01T00:00:09Z"})"),
      json::parse(
          R"({"type": "Warning", "reason": "FailedScheduling", "eventTime": "2026-01-01T00:00:09Z"})")};
  const std::string told = explain_wait(state, events);
  EXPECT_THAT(told, HasSubstr("yet; FailedAttachVolume: Multi-Attach error for volume \"pvc-1\"; another pod "
                              "uses the volume"));
  EXPECT_THAT(told, HasSubstr("`kubectl ratoon suspend`"));
}

TEST(ReaderStateTest, AnEndBeforeTheLastLineIsExplained) {
  EXPECT_EQ(explain_early_end(pod_with(R"({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})")),
            "its memory limit of 1 GiB was reached");
  EXPECT_EQ(explain_early_end(pod_with(R"({"terminated": {"exitCode": 82, "reason": "Error"}})")),
            "it ended with exit code 82 (Error)");
  json late = pod_with(R"({"terminated": {"exitCode": 137, "reason": "Error"}})");
  late["status"]["reason"] = "DeadlineExceeded";
  EXPECT_EQ(explain_early_end(late), "it did not end within its time limit (activeDeadlineSeconds)");
  late["status"]["reason"] = "Evicted";
  late["status"]["message"] = "low on memory";
  EXPECT_EQ(explain_early_end(late), "Evicted: low on memory");
}

TEST(PodRefusalTest, ItNamesTheVerbAndTheResource) {
  const ClusterQuery query{.server = "https://a:1", .name_space = "prod"};
  const auto refuse = [&](int status, const std::string& message) {
    const kube::ApiFailure failure{.status = status,
                                   .reason = "",
                                   .error = Error(ErrorKind::kPermissionDenied, message),
                                   .retry_after_seconds = {}};
    return explain_pod_refusal(query, "create", "pods", failure.error, failure);
  };
  const Error right =
      refuse(403, R"(pods is forbidden: User "u" cannot create resource "pods" in API group "")");
  EXPECT_EQ(right.kind(), ErrorKind::kPermissionDenied);
  EXPECT_THAT(right.message(), HasSubstr("this user may not create pods in namespace 'prod' at https://a:1"));
  EXPECT_THAT(right.message(), HasSubstr("'get' on pods/log, such as the cluster role 'edit'"));
  for (const int status : {403, 422})
    EXPECT_THAT(
        refuse(status, R"(exceeded quota: compute)").message(),
        HasSubstr("refuses the pod that would read the checkpoints in namespace 'prod' at https://a:1: "
                  "exceeded quota"));
  EXPECT_THAT(explain_pod_refusal(query, "get", "pods", Error(ErrorKind::kTimeout, "late"), {}).message(),
              HasSubstr("the call 'get' for pods in namespace 'prod' at https://a:1: late"));
}

}  // namespace
}  // namespace ratoon::cli::reader_state_test
