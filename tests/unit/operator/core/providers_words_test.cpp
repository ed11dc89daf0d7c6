// The announcements of platforms before they end nodes, and the time that they leave, written from their own
// documents and not from the core: a word that the core forgets, or mistakes for a notice, becomes visible.
#include <chrono>
#include <map>
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

// A node as its provider describes it: its labels, and the taint, if the sign is one.
struct NodeOfProvider {
  std::map<std::string, std::string> labels;
  std::string taint;   // KEY:EFFECT; empty: none
  std::string notice;  // the words for it; empty: none
  std::optional<int> leaves_seconds;
  std::string_view source;
};

constexpr std::string_view kAwsHandler =
    "github.com/aws/aws-node-termination-handler, docs: TAINT_NODE lists the keys";
constexpr std::string_view kEksSpot =
    "docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html: two minutes";
constexpr std::string_view kKarpenterFormerly = "karpenter.sh/v0.32/concepts/disruption";
constexpr std::string_view kKarpenter = "karpenter.sh/docs/concepts/disruption: termination controller";
constexpr std::string_view kAutoscaler =
    "github.com/kubernetes/autoscaler, cluster-autoscaler/utils/taints/taints.go";
constexpr std::string_view kGke =
    "docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms: 30 s, the first 15 for pods that are "
    "not "
    "the system's; up to 120 s where the pool says so";
constexpr std::string_view kGkeMaintenance =
    "docs.cloud.google.com/kubernetes-engine/docs/concepts/handle-disruption-gpu-tpu and "
    "/docs/how-to/view-maintenance-events: the label's time is that of the beginning, in seconds since 1970";
constexpr std::string_view kAzureEvents =
    "learn.microsoft.com/azure/virtual-machines/linux/scheduled-events: Preempt has at least 30 s; the drain "
    "that sets the taint takes some of them";
constexpr std::string_view kWellKnown = "kubernetes.io/docs/reference/labels-annotations-taints";
constexpr std::string_view kAks =
    "learn.microsoft.com/azure/aks/node-auto-drain; the AKS changelog says that the second key replaces the "
    "first";
constexpr std::string_view kConditions =
    "kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration: taints by condition";

constexpr TaintOfProvider kTaintsOfProviders[] = {
    {"aws-node-termination-handler/spot-itn", true, 120, kEksSpot},
    {"aws-node-termination-handler/scheduled-maintenance", true, std::nullopt, kAwsHandler},
    {"aws-node-termination-handler/asg-lifecycle-termination", true, std::nullopt, kAwsHandler},
    {"aws-node-termination-handler/rebalance-recommendation", true, std::nullopt, kAwsHandler},
    {"karpenter.sh/disrupted", true, std::nullopt, kKarpenter},
    {"karpenter.sh/disruption", true, std::nullopt, kKarpenterFormerly},
    {"ToBeDeletedByClusterAutoscaler", true, std::nullopt, kAutoscaler},
    // The handler of a GPU machine that is no spot machine leaves each pod its grace, of up to an hour.
    {"cloud.google.com/impending-node-termination", true, std::nullopt, kGkeMaintenance},
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

const NodeOfProvider kNodesOfProviders[] = {
    {{{"cloud.google.com/gke-spot", "true"}},
     "cloud.google.com/impending-node-termination:NoSchedule",
     "taint cloud.google.com/impending-node-termination",
     15,
     kGke},
    {{{"cloud.google.com/gke-preemptible", "true"}},
     "cloud.google.com/impending-node-termination:NoSchedule",
     "taint cloud.google.com/impending-node-termination",
     15,
     kGke},
    {{},
     "cloud.google.com/maintenance-window-started:PreferNoSchedule",
     "taint cloud.google.com/maintenance-window-started",
     std::nullopt,
     kGkeMaintenance},
    {{{"cloud.google.com/active-node-maintenance", "ONGOING"}},
     "",
     "label cloud.google.com/active-node-maintenance=ONGOING",
     std::nullopt,
     kGkeMaintenance},
    {{{"cloud.google.com/active-node-maintenance", "PENDING"}}, "", "", std::nullopt, kGkeMaintenance},
    // Fifteen minutes before the maintenance begins, and not earlier: notices come days ahead.
    {{{"cloud.google.com/scheduled-maintenance-time", "1900"}},
     "",
     "label cloud.google.com/scheduled-maintenance-time=1900",
     std::nullopt,
     kGkeMaintenance},
    {{{"cloud.google.com/scheduled-maintenance-time", "1901"}}, "", "", std::nullopt, kGkeMaintenance},
    {{{"kubernetes.azure.com/scalesetpriority", "spot"}},
     "remediator.kubernetes.azure.com/unschedulable:NoSchedule",
     "taint remediator.kubernetes.azure.com/unschedulable",
     25,
     kAzureEvents},
    {{{"kubernetes.azure.com/scalesetpriority", "spot"}},
     "remediator.aks.microsoft.com/unschedulable:NoSchedule",
     "taint remediator.aks.microsoft.com/unschedulable",
     25,
     kAzureEvents},
    // Candidates for removal.
    {{}, "DeletionCandidateOfClusterAutoscaler:PreferNoSchedule", "", std::nullopt, kAutoscaler},
    {{}, "karpenter.sh/disrupted:PreferNoSchedule", "", std::nullopt, kKarpenter},
    // Kinds of nodes.
    {{{"cloud.google.com/gke-spot", "true"}}, "", "", std::nullopt, kGke},
    {{{"eks.amazonaws.com/capacityType", "SPOT"}}, "", "", std::nullopt, kEksSpot},
};

std::optional<NodeNotice> find_built_in(const api::Node& node) {
  return find_notice(node, built_in_notice_rules(), test::wall(kLookAt));
}

std::string sign_of(const std::optional<NodeNotice>& notice) {
  return notice ? notice->sign : "";
}

std::optional<WallTime> after_look(std::optional<int> seconds) {
  return seconds ? std::optional(test::wall(kLookAt + *seconds)) : std::nullopt;
}

api::Node node_tainted_with(std::string_view key, std::string_view effect = "NoSchedule") {
  return {.name = "node-1", .taints = {{.key = std::string(key), .effect = std::string(effect)}}};
}

TEST(ProvidersWords, EachTaintIsANoticeOrNoneAsItsProviderSaysWithItsTime) {
  for (const auto& taint : kTaintsOfProviders) {
    const auto said = find_built_in(node_tainted_with(taint.key));
    EXPECT_EQ(sign_of(said), taint.is_notice ? "taint " + std::string(taint.key) : "") << taint.source;
    if (said) {
      EXPECT_EQ(said->ends_at, after_look(taint.leaves_seconds)) << taint.key << ": " << taint.source;
    }
  }
}

TEST(ProvidersWords, EachNodeHasNoticeOrNoneAsItsProviderSaysWithItsTime) {
  for (const auto& told : kNodesOfProviders) {
    const std::size_t colon = told.taint.find(':');
    api::Node node{.name = "node-1"};
    if (!told.taint.empty())
      node = node_tainted_with(told.taint.substr(0, colon), told.taint.substr(colon + 1));
    node.labels = told.labels;
    const auto said = find_built_in(node);
    EXPECT_EQ(sign_of(said), told.notice) << told.taint << ": " << told.source;
    if (said) {
      EXPECT_EQ(said->ends_at, after_look(told.leaves_seconds)) << told.notice << ": " << told.source;
    }
  }
}

// kubernetes.io/docs/concepts/nodes/node: a cordon, the node's own deletion, and the condition of a kubelet
// that shuts down gracefully, after kubernetes.io/docs/concepts/cluster-administration/node-shutdown. AWS's
// handler cordons the node unless it is told to set taints.
TEST(ProvidersWords, ANodeSaysItWithoutATaintToo) {
  EXPECT_EQ(find_built_in({.name = "n", .is_unschedulable = true}),
            (NodeNotice{.rule = "node-cordon", .sign = "it is cordoned"}));
  EXPECT_EQ(find_built_in({.name = "n", .is_deleting = true}),
            (NodeNotice{.rule = "node-deletion", .sign = "it is being deleted"}));
  api::Node node{
      .name = "n", .is_ready = false, .is_shutting_down = true, .shutting_down_since = test::wall(990)};
  EXPECT_EQ(find_built_in(node), (NodeNotice{.rule = "node-shutdown", .sign = "it is shutting down"}));
  for (const char* kind : {"cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"}) {
    node.labels = {{kind, "true"}};
    ASSERT_TRUE(find_built_in(node));
    EXPECT_EQ(find_built_in(node)->ends_at, test::wall(1005)) << kind << " counts from the report: " << kGke;
  }
  EXPECT_FALSE(find_built_in({.name = "n", .is_ready = false})) << "silence says whether it lives";
  EXPECT_FALSE(find_built_in({.name = "n"}));
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
        << known.code << ", " << known.source << ": " << ending.explanation;
  }
}

}  // namespace
}  // namespace ratoon::core::providers_words_test
