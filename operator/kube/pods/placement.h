// Places a member's pod: not on a node where a member was lost, and preferably on a node without other pods
// of the job. If the pod's node is lost, Kubernetes deletes the pod soon.
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

// Keeps the pod away from `nodes`; if there are none, spreads the job's pods over hosts. If such a node has
// neither a taint nor pods of the job, the pod only prefers other nodes. Does not spread pods if the user
// sets pod affinity or topologySpreadConstraints. Returns the nodes that are excluded by anti-affinity.
std::vector<std::string> exclude_nodes(nlohmann::json& pod_spec, const NodesToAvoid& nodes,
                                       const std::string& job_uid);

// Makes the scheduler prefer nodes that have the same value of the label `label` as the nodes of the job's
// other pods. Does nothing if the label is empty or the user's template has pod affinity. Call pack_by()
// after exclude_nodes(), because exclude_nodes() also reads the user's pod affinity.
void pack_by(nlohmann::json& pod_spec, const std::string& label, const std::string& job_uid);

// Makes the pod tolerate the two taints of a lost node for `seconds`, unless the user's template tolerates
// them.
void leave_lost_nodes_after(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
