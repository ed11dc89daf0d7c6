// The ways in which kubelets and controllers report that they ended or refused a pod, written from the
// documents of Kubernetes and not from the codec: a word that the codec forgets, or wrongly takes for the
// platform's, becomes visible.
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/kube/pods/pod_codec.h"

namespace ratoon::kube::kubelets_words_test {
namespace {

using nlohmann::json;

json pod_that_failed() {
  return json::parse(R"({"metadata": {"name": "digits-worker-0-i0", "namespace": "default", "uid": "u",
      "labels": {"ratoon.dev/role": "worker", "ratoon.dev/index": "0", "ratoon.dev/incarnation": "0"},
      "ownerReferences": [{"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "name": "digits",
                           "uid": "job", "controller": true}]},
      "spec": {"nodeName": "node-1", "containers": [{"name": "trainer"}]},
      "status": {"phase": "Failed"}})");
}

struct Word {
  std::string_view word;
  bool is_platform;
  std::string_view source;
};

constexpr std::string_view kAdmission =
    "github.com/kubernetes/kubernetes, pkg/kubelet/lifecycle/predicate.go: reasons of refused pods";
constexpr std::string_view kPressure =
    "kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction: reason Evicted";
constexpr std::string_view kShutdown =
    "kubernetes.io/docs/concepts/cluster-administration/node-shutdown: Terminated; NodeShutdown where a pod "
    "is "
    "refused; Shutdown up to 1.21 (kubernetes issue 102820)";
constexpr std::string_view kCritical = "pkg/kubelet/preemption/preemption.go: room for a critical pod";
constexpr std::string_view kLost = "pkg/util/node/node.go: NodeUnreachablePodReason";
constexpr std::string_view kPodReasons =
    "kubernetes.io/docs/concepts/workloads/controllers/job: the pod's own";

constexpr Word kReasonsOfPods[] = {
    {"Evicted", true, kPressure},
    {"Preempting", true, kCritical},
    {"NodeShutdown", true, kShutdown},
    {"Shutdown", true, kShutdown},
    {"Terminated", true, kShutdown},
    {"NodeLost", true, kLost},
    {"NodeAffinity", true, kAdmission},
    {"OutOfcpu", true, kAdmission},
    {"OutOfmemory", true, kAdmission},
    {"OutOfpods", true, kAdmission},
    {"OutOfephemeral-storage", true, kAdmission},
    {"OutOfnvidia.com/gpu", true, kAdmission},
    {"UnexpectedAdmissionError", true, kAdmission},
    {"DeadlineExceeded", false, kPodReasons},  // the pod's own activeDeadlineSeconds
    {"Error", false, kPodReasons},
    {"", false, kPodReasons},
};

TEST(KubeletsWords, AReasonOfThePodIsThePlatformsOrNot) {
  for (const auto& known : kReasonsOfPods) {
    json pod = pod_that_failed();
    if (!known.word.empty()) pod["status"]["reason"] = known.word;
    const auto read = decode_pod(pod);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->pod.is_evicted, known.is_platform) << known.word << ": " << known.source;
  }
}

constexpr std::string_view kContainer =
    "kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle: container states; StartError and OOMKilled "
    "are the "
    "runtime's";
constexpr std::string_view kUnknownStatus =
    "pkg/kubelet/kubelet_pods.go: a kubelet that no longer knows how a container ended";

constexpr Word kReasonsOfContainers[] = {
    {"ContainerStatusUnknown", true, kUnknownStatus},
    {"OOMKilled", false, kContainer},
    {"StartError", false, kContainer},
    {"ContainerCannotRun", false, kContainer},
    {"Error", false, kContainer},
};

TEST(KubeletsWords, AReasonOfTheTrainersEndIsThePlatformsOrNot) {
  for (const auto& known : kReasonsOfContainers) {
    json pod = pod_that_failed();
    pod["status"]["containerStatuses"] = {
        {{"name", "trainer"}, {"state", {{"terminated", {{"exitCode", 137}, {"reason", known.word}}}}}}};
    const auto read = decode_pod(pod);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->pod.is_evicted, known.is_platform) << known.word << ": " << known.source;
    const bool is_told = known.word != "Error";
    EXPECT_EQ(read->pod.end_reasons.empty(), !is_told) << known.word << ": rules ask for it";
  }
}

// kubernetes.io/docs/concepts/workloads/pods/disruptions: pod disruption conditions, with all their reasons.
TEST(KubeletsWords, EachDisruptionConditionIsThePlatforms) {
  for (const char* reason : {"PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI",
                             "DeletionByPodGC", "TerminationByKubelet"}) {
    json pod = pod_that_failed();
    pod["status"]["conditions"] = {{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}}};
    const auto read = decode_pod(pod);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(read->pod.is_evicted) << reason;
    EXPECT_EQ(read->pod.end_reasons, std::vector<std::string>{reason});
    pod["status"]["conditions"][0]["status"] = "False";
    EXPECT_FALSE(decode_pod(pod)->pod.is_evicted) << reason << " was taken back";
  }
}

// pkg/kubelet/kubelet.go, rejectPod: the phase, the reason and the message, and no status of any container.
TEST(KubeletsWords, APodThatItDoesNotStartIsARejectionInItsOwnWords) {
  for (const char* reason :
       {"UnexpectedAdmissionError", "OutOfcpu", "OutOfnvidia.com/gpu", "NodeAffinity", "NodeShutdown",
        "TopologyAffinityError", "SMTAlignmentError", "PodOSNotSupported"}) {
    json pod = pod_that_failed();
    pod["status"]["reason"] = reason;
    pod["status"]["message"] = "Pod was rejected: it does not fit";
    EXPECT_EQ(decode_pod(pod)->pod.kubelet_rejection,
              std::string(reason) + ": Pod was rejected: it does not fit");
    pod["status"]["containerStatuses"] = {
        {{"name", "trainer"}, {"state", {{"waiting", {{"reason", "ContainerCreating"}}}}}}};
    EXPECT_NE(decode_pod(pod)->pod.kubelet_rejection, "") << reason << ": none of it ran";
    pod["status"]["containerStatuses"][0]["state"] = {{"terminated", {{"exitCode", 137}}}};
    EXPECT_EQ(decode_pod(pod)->pod.kubelet_rejection, "") << reason << ": it ran";
  }
  json pod = pod_that_failed();
  pod["status"]["reason"] = "Evicted";
  pod["status"]["message"] = "The node was low on resource: memory.";
  EXPECT_EQ(decode_pod(pod)->pod.kubelet_rejection, "") << "it ran";
  pod["status"]["message"] = "Pod was rejected: The node had condition: [MemoryPressure].";
  EXPECT_NE(decode_pod(pod)->pod.kubelet_rejection, "") << "under pressure none is started";
  for (const char* reason : {"DeadlineExceeded", "Preempting", "Terminated", "NodeLost", ""}) {
    pod["status"]["reason"] = reason;
    EXPECT_EQ(decode_pod(pod)->pod.kubelet_rejection, "") << reason;
  }
}

// A webhook of a service mesh inserted it, or the operator itself: the program is not to blame.
TEST(KubeletsWords, AnInitContainerThatTheTemplateDoesNotHaveIsAFailureOfThePlatform) {
  json pod = pod_that_failed();
  pod["metadata"]["annotations"] = {{"ratoon.dev/init-containers", "fetch,unpack"}};
  pod["spec"]["initContainers"] = {{{"name", "mesh-check"}}, {{"name", "fetch"}}};
  const auto with_failed = [&](const char* name) {
    pod["status"] = {{"phase", "Failed"},
                     {"initContainerStatuses",
                      {{{"name", name},
                        {"state", {{"terminated", {{"exitCode", 1}, {"message", "no control plane"}}}}}}}}};
    return decode_pod(pod)->pod;
  };
  const auto injected = with_failed("mesh-check");
  EXPECT_TRUE(injected.has_ended());
  EXPECT_EQ(
      injected.kubelet_rejection,
      "its init container mesh-check, which the job's template does not have, failed with exit code 1: no "
      "control plane");
  EXPECT_EQ(injected.failed_init_container, "");
  EXPECT_EQ(injected.exit_code, std::nullopt) << "no rule about exit codes of the program is meant";
  EXPECT_EQ(with_failed("fetch").failed_init_container, "fetch");
  pod["metadata"]["annotations"] = {{"ratoon.dev/init-containers", ""}};
  EXPECT_NE(with_failed("fetch").kubelet_rejection, "");
  pod["metadata"].erase("annotations");
  EXPECT_EQ(with_failed("fetch").kubelet_rejection, "") << "a pod of an earlier version";
}

}  // namespace
}  // namespace ratoon::kube::kubelets_words_test
