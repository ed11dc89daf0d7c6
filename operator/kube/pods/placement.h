// Places a member's pod: not on a node where a member was lost, preferably not beside other pods of the job,
// and soon away from a lost node.
//
// Anti-affinity to the job's pods that are still on a node keeps a pod off that node, because autoscalers
// ignore a pod whose required node affinity names nodes (docs/design/0007-placement.md).
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

// Keeps the pod away from `nodes`, and else spreads the job's pods over hosts. A node without a taint and
// without pods of the job is avoided only as a preference. Does not spread pods if the user sets pod affinity
// or topologySpreadConstraints. Returns the nodes that are excluded by anti-affinity.
std::vector<std::string> place_away(nlohmann::json& pod_spec, const NodesToAvoid& nodes,
                                    const std::string& job_uid);

// Makes the pod tolerate the two taints of a lost node for `seconds`, unless the user's template tolerates
// them.
void leave_lost_nodes_after(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
