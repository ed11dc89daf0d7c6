// Placement of a member's pod: not on a node where a member was lost, preferably apart from its peers, and
// soon away from a lost node.
//
// Autoscalers ignore a pod whose required node affinity names nodes (docs/design/0007-placement.md). The pod
// is therefore kept away from the pods of its job that are still on the node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "operator/api/node.h"

namespace ratoon::kube {

struct NodesToAvoid {
  std::vector<api::NodeToAvoid> avoided;  // the pod must not be placed on these
  std::vector<std::string> sick{};        // nor on these, if there is room elsewhere
};

// Keeps the pod away from nodes, and otherwise spreads pods by host, if that is possible. A node that neither
// a taint nor a pod of the job excludes is avoided only as a preference. Pods are not spread if the user sets
// pod affinity or a spread of pods. Returns the nodes that pods of the job exclude.
std::vector<std::string> place_away(nlohmann::json& pod_spec, const NodesToAvoid& nodes,
                                    const std::string& job_uid);

// Adds tolerations for the two taints of a lost node, unless the user has tolerations for them.
void leave_lost_nodes_after(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
