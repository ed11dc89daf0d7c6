// The announcements of platforms before they end nodes, and the time that they leave, written from their own
// documents and not from the core: a word that the core forgets, or mistakes for a notice, becomes visible.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "operator/core/members/notice.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::providers_words_test {
namespace {

constexpr int kLookAt = 1000;  // seconds

struct TaintOfProvider {
  std::string_view key;
  bool is_notice;
  std::optional<int> leaves_seconds;  // nothing: each pod has its own grace
  std::string_view source;
};

constexpr std::string_view kAwsHandler =
    "github.com/aws/aws-node-termination-handler, docs: TAINT_NODE lists the keys";
constexpr std::string_view kEksSpot =
    "docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html: two minutes";
constexpr std::string_view kKarpenter = "karpenter.sh/docs/concepts/disruption: termination controller";
constexpr std::string_view kAutoscaler =
    "github.com/kubernetes/autoscaler, cluster-autoscaler/utils/taints/taints.go";
constexpr std::string_view kGke =
    "docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms: 30 s, 25 of them for pods that are not "
    "the "
    "system's";
constexpr std::string_view kWellKnown = "kubernetes.io/docs/reference/labels-annotations-taints";
constexpr std::string_view kAks =
    "learn.microsoft.com/azure/aks/node-auto-repair: node auto-drain; the AKS changelog says that the second "
    "key "
    "replaces the first";
constexpr std::string_view kConditions =
    "kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration: taints by condition";

constexpr TaintOfProvider kTaintsOfProviders[] = {
    {"aws-node-termination-handler/spot-itn", true, 120, kEksSpot},
    {"aws-node-termination-handler/scheduled-maintenance", true, std::nullopt, kAwsHandler},
    {"aws-node-termination-handler/asg-lifecycle-termination", true, std::nullopt, kAwsHandler},
    {"aws-node-termination-handler/rebalance-recommendation", true, std::nullopt, kAwsHandler},
    {"karpenter.sh/disrupted", true, std::nullopt, kKarpenter},
    {"ToBeDeletedByClusterAutoscaler", true, std::nullopt, kAutoscaler},
    {"cloud.google.com/impending-node-termination", true, 25, kGke},
    {"node.kubernetes.io/out-of-service", true, std::nullopt, kWellKnown},
    {"node.cloudprovider.kubernetes.io/shutdown", true, std::nullopt, kWellKnown},
    {"remediator.aks.microsoft.com/unschedulable", true, std::nullopt, kAks},
    {"remediator.kubernetes.azure.com/unschedulable", true, std::nullopt, kAks},
    // Most candidates stay: the autoscaler removes the taint again.
    {"DeletionCandidateOfClusterAutoscaler", false, std::nullopt, kAutoscaler},
    // Kinds of nodes, which last as long as the nodes.
    {"kubernetes.azure.com/scalesetpriority", false, std::nullopt, kAks},
    {"cloud.google.com/gke-spot", false, std::nullopt, kGke},
    {"cloud.google.com/gke-preemptible", false, std::nullopt, kGke},
    {"eks.amazonaws.com/compute-type", false, std::nullopt,
     "docs.aws.amazon.com/eks/latest/userguide/fargate.html"},
    {"node-role.kubernetes.io/control-plane", false, std::nullopt, kWellKnown},
    {"nvidia.com/gpu", false, std::nullopt, "docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus"},
    // Nodes that begin.
    {"node.cloudprovider.kubernetes.io/uninitialized", false, std::nullopt, kWellKnown},
    {"karpenter.sh/unregistered", false, std::nullopt, "karpenter.sh/docs/concepts/nodepools"},
    {"node.cilium.io/agent-not-ready", false, std::nullopt, "docs.cilium.io: installation, taint effects"},
    // Problems of a node. Messages of its pods show whether they live.
    {"node.kubernetes.io/not-ready", false, std::nullopt, kConditions},
    {"node.kubernetes.io/unreachable", false, std::nullopt, kConditions},
    {"node.kubernetes.io/memory-pressure", false, std::nullopt, kConditions},
    {"node.kubernetes.io/disk-pressure", false, std::nullopt, kConditions},
    {"node.kubernetes.io/pid-pressure", false, std::nullopt, kConditions},
    {"node.kubernetes.io/network-unavailable", false, std::nullopt, kConditions},
};

api::Node node_tainted_with(std::string_view key) {
  return {.name = "node-1", .taints = {{.key = std::string(key), .effect = "NoSchedule"}}};
}

TEST(ProvidersWords, EachTaintIsANoticeOrNoneAsItsProviderSays) {
  for (const auto& taint : kTaintsOfProviders) {
    const std::string said = find_notice(node_tainted_with(taint.key), {});
    EXPECT_EQ(said, taint.is_notice ? "taint " + std::string(taint.key) : "") << taint.source;
  }
}

TEST(ProvidersWords, EachTaintLeavesTheTimeThatItsProviderSays) {
  for (const auto& taint : kTaintsOfProviders) {
    const auto end = find_node_end(node_tainted_with(taint.key), test::wall(kLookAt));
    if (taint.leaves_seconds) {
      EXPECT_EQ(end, test::wall(kLookAt + *taint.leaves_seconds)) << taint.key << ": " << taint.source;
    } else {
      EXPECT_EQ(end, std::nullopt) << taint.key << ": " << taint.source;
    }
  }
}

// kubernetes.io/docs/concepts/nodes/node: a cordon, the node's own deletion, and the condition of a kubelet
// that shuts down gracefully, after kubernetes.io/docs/concepts/cluster-administration/node-shutdown.
TEST(ProvidersWords, ANodeSaysItWithoutATaintToo) {
  EXPECT_EQ(find_notice({.name = "n", .taints = {}, .is_unschedulable = true}, {}), "it is cordoned");
  EXPECT_EQ(find_notice({.name = "n", .taints = {}, .is_deleting = true}, {}), "it is being deleted");
  EXPECT_EQ(find_notice({.name = "n", .taints = {}, .is_ready = false, .is_shutting_down = true}, {}),
            "it is shutting down");
}

struct CodeOfProgram {
  int code;
  EndCause cause;
  std::string_view source;
};

constexpr std::string_view kOurs = "base/contract/exit_code.h: what a trainer says with them";
constexpr std::string_view kShell =
    "gnu.org/software/bash/manual: exit status, 128 + N for signal N; signal(7) for N";

constexpr CodeOfProgram kCodesOfPrograms[] = {
    {0, EndCause::kApplication, "a trainer's end is a record, and no code"},
    {1, EndCause::kApplication, kShell},
    {2, EndCause::kApplication, kShell},
    {80, EndCause::kDisruption, kOurs},     // preempted, after a save
    {81, EndCause::kDisruption, kOurs},     // start me again
    {82, EndCause::kFatal, kOurs},          // configuration
    {83, EndCause::kFatal, kOurs},          // checkpoints exist, and none is good
    {84, EndCause::kDisruption, kOurs},     // storage
    {125, EndCause::kApplication, kShell},  // of a container runtime that failed by itself
    {126, EndCause::kApplication, kShell},  // cannot be executed
    {127, EndCause::kApplication, kShell},  // not found
    {130, EndCause::kDisruption, kShell},   // SIGINT: somebody stopped it
    {132, EndCause::kApplication, kShell},  // SIGILL
    {134, EndCause::kApplication, kShell},  // SIGABRT
    {135, EndCause::kApplication, kShell},  // SIGBUS
    {136, EndCause::kApplication, kShell},  // SIGFPE
    {137, EndCause::kDisruption, kShell},   // SIGKILL, without a word about memory
    {139, EndCause::kApplication, kShell},  // SIGSEGV
    {143, EndCause::kDisruption, kShell},   // SIGTERM
};

TEST(ProvidersWords, EachExitCodeCostsWhatItMeans) {
  for (const auto& known : kCodesOfPrograms) {
    const auto ending = classify(test::ended_pod(0, known.code), false, {});
    EXPECT_EQ(static_cast<int>(ending.cause), static_cast<int>(known.cause))
        << known.code << ", " << known.source << ": " << ending.sentence;
  }
}

}  // namespace
}  // namespace ratoon::core::providers_words_test
