// Places a member's pod: not on a node where a member was lost, and preferably on a node without other pods
// of the job. The pod tolerates a lost node only for a short time, after which Kubernetes deletes the pod.
//
// To keep a pod off a node, the operator uses anti-affinity to the job's pods that are still on it, because
// autoscalers ignore a pod whose required node affinity names nodes (docs/design/0007-placement.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "operator/api/node.h"

namespace ratoon::kube {

struct NodesToAvoid {
  std::vector<api::NodeToAvoid> avoided;  // the pod must not be placed on these
  std::vector<std::string> faulty{};      // nor on these, if there is room elsewhere
};

// Keeps the pod away from `nodes`. The pod only prefers other nodes to a faulty node, and to an avoided node
// that has neither a taint against the pod nor pods of the job. If there is no such node, spreads the job's
// pods over hosts, unless the user sets pod affinity or topologySpreadConstraints. Returns the nodes that
// anti-affinity excludes.
std::vector<std::string> exclude_nodes(nlohmann::json& pod_spec, const NodesToAvoid& nodes,
                                       const std::string& job_uid);

// Makes the scheduler prefer nodes that have the same value of the label `label` as the nodes of the job's
// other pods. Does nothing if the label is empty or the user's template has pod affinity. Call pack_by()
// after exclude_nodes(), because exclude_nodes() also reads the user's pod affinity.
void pack_by(nlohmann::json& pod_spec, const std::string& label, const std::string& job_uid);

// Makes the pod tolerate the two taints of a lost node for `seconds`, unless the user's template tolerates
// them.
void tolerate_lost_nodes_for(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
