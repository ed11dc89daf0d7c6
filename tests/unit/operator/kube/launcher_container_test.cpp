// The init container that copies ratoon-launcher into the pod of a role with `agent: Launcher`.
#include <gtest/gtest.h>

#include "operator/kube/pods/member_pod.h"

namespace ratoon::kube::launcher_container_test {
namespace {

using nlohmann::json;

// Returns the security context of the init container beside a trainer with this security context.
json security_beside(const char* of_trainer) {
  json job = json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "team-a", "uid": "u"},
    "spec": {"numNodes": 2, "roles": [{"name": "worker", "agent": "Launcher", "template": {
        "spec": {"containers": [{"name": "trainer", "image": "i", "command": ["train"]}]}}}]}})");
  job["spec"]["roles"][0]["template"]["spec"]["containers"][0]["securityContext"] = json::parse(of_trainer);
  const auto decoded = api::decode_training_job(job);
  EXPECT_TRUE(decoded) << decoded.error().message();
  const auto pod =
      make_member_pod(*decoded, {.name = "digits-worker-0-i0", .role = "worker"}, {},
                      {.coordinator_url = "https://10.0.0.1:9443", .launcher_image = "operator"});
  EXPECT_TRUE(pod) << pod.error().message();
  return (*pod)["spec"]["initContainers"][0]["securityContext"];
}

// A namespace with the Pod Security level "restricted" demands these fields of each container, and users
// cannot write into the init container.
TEST(LauncherContainer, HasTheUserAndTheProfilesOfTheTrainerAndNoRights) {
  EXPECT_EQ(
      security_beside(R"({"runAsUser": 7, "runAsNonRoot": true, "runAsGroup": null, "privileged": true,
                                "seccompProfile": {"type": "RuntimeDefault"}})"),
      json::parse(R"({"runAsUser": 7, "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"},
                            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]}})"));
  EXPECT_EQ(security_beside("null").size(), 3U) << "a platform assigns what the user leaves open";
}

}  // namespace
}  // namespace ratoon::kube::launcher_container_test
