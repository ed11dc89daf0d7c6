#include <utility>

#include "base/core/never_destroyed.h"
#include "operator/core/members/notice_rules.h"

namespace ratoon::core {
namespace {

constexpr const char* kGkeTermination = "cloud.google.com/impending-node-termination";
constexpr const char* kAksDrainTaint = "remediator.kubernetes.azure.com/unschedulable";
constexpr const char* kOldAksDrainTaint = "remediator.aks.microsoft.com/unschedulable";

using NodeLabels = std::map<std::string, std::string>;

NoticeRule taint_rule(const char* name, const char* key, std::optional<Duration> leaves = {},
                      NodeLabels node_labels = {}) {
  return {.name = name, .key = key, .node_labels = std::move(node_labels), .node_end_after = leaves};
}

NoticeRule shutdown_rule(const char* name, std::optional<Duration> leaves = {}, NodeLabels node_labels = {}) {
  return {.name = name,
          .sign = NoticeSource::kShutdown,
          .node_labels = std::move(node_labels),
          .node_end_after = leaves};
}

// Each duration in the rules is the shortest that the platform's documents promise. AWS reclaims a spot
// instance two minutes after its notice. GKE gives only the first 15 of 30 seconds to pods other than system
// pods. Azure announces an eviction at least 30 seconds before the eviction, and setting the taint takes some
// of this time.
NoticeRules make_built_in_rules() {
  constexpr Duration kAwsSpotLeaves = std::chrono::seconds(120);
  constexpr Duration kGkeSpotLeaves = std::chrono::seconds(15);
  constexpr Duration kAksSpotLeaves = std::chrono::seconds(25);
  constexpr Duration kMaintenanceLead = std::chrono::minutes(15);  // enough for the start of another node
  const NodeLabels gke_spot = {{"cloud.google.com/gke-spot", "true"}};
  const NodeLabels gke_preemptible = {{"cloud.google.com/gke-preemptible", "true"}};
  const NodeLabels aks_spot = {{"kubernetes.azure.com/scalesetpriority", "spot"}};
  return {
      {.name = "node-deletion", .sign = NoticeSource::kDeletion},
      shutdown_rule("gke-spot-shutdown", kGkeSpotLeaves, gke_spot),
      shutdown_rule("gke-preemptible-shutdown", kGkeSpotLeaves, gke_preemptible),
      shutdown_rule("node-shutdown"),
      taint_rule("karpenter-disruption", "karpenter.sh/disrupted"),
      taint_rule("karpenter-disruption-former-key", "karpenter.sh/disruption"),
      taint_rule("cluster-autoscaler", "ToBeDeletedByClusterAutoscaler"),
      taint_rule("aws-spot-interruption", "aws-node-termination-handler/spot-itn", kAwsSpotLeaves),
      taint_rule("aws-scheduled-maintenance", "aws-node-termination-handler/scheduled-maintenance"),
      taint_rule("aws-scale-in", "aws-node-termination-handler/asg-lifecycle-termination"),
      taint_rule("aws-rebalance", "aws-node-termination-handler/rebalance-recommendation"),
      taint_rule("gke-spot-termination", kGkeTermination, kGkeSpotLeaves, gke_spot),
      taint_rule("gke-preemptible-termination", kGkeTermination, kGkeSpotLeaves, gke_preemptible),
      taint_rule("gke-termination", kGkeTermination),
      {.name = "gke-maintenance-window",
       .key = "cloud.google.com/maintenance-window-started",
       .effect = "PreferNoSchedule"},
      {.name = "gke-active-maintenance",
       .sign = NoticeSource::kLabel,
       .key = "cloud.google.com/active-node-maintenance",
       .value = "ONGOING"},
      {.name = "gke-scheduled-maintenance",
       .sign = NoticeSource::kLabel,
       .key = "cloud.google.com/scheduled-maintenance-time",
       .value_time_format = ValueTimeFormat::kUnixSeconds,
       .notice_lead_time = kMaintenanceLead},
      taint_rule("aks-spot-drain", kAksDrainTaint, kAksSpotLeaves, aks_spot),
      taint_rule("aks-spot-drain-former-key", kOldAksDrainTaint, kAksSpotLeaves, aks_spot),
      taint_rule("aks-drain", kAksDrainTaint),
      taint_rule("aks-drain-former-key", kOldAksDrainTaint),
      taint_rule("out-of-service", "node.kubernetes.io/out-of-service"),
      taint_rule("cloud-shutdown", "node.cloudprovider.kubernetes.io/shutdown"),
      taint_rule("ratoon-reclaim", kReclaimTaint),
      {.name = "node-cordon", .sign = NoticeSource::kCordon},
  };
}

}  // namespace

const NoticeRules& built_in_notice_rules() {
  static const NeverDestroyed<NoticeRules> rules(make_built_in_rules());
  return *rules;
}

}  // namespace ratoon::core
