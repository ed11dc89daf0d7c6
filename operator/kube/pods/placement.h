// Placement of a member's pod: not on a node where a member was lost, preferably apart from its peers, and
// soon away from a lost node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// The requirement is added to each alternative of the user's required node affinity, because any alternative
// without it would allow the node.
void avoid_nodes(nlohmann::json& pod_spec, const std::vector<std::string>& nodes);

// Adds the nodes to avoid only as a preference.
void prefer_other_nodes(nlohmann::json& pod_spec, const std::vector<std::string>& nodes);

// Spreads pods by host, only as a preference, and only if the user sets neither pod affinity nor a spread of
// pods.
void prefer_apart(nlohmann::json& pod_spec, const std::string& job_uid);

// Adds tolerations for the two taints of a lost node, unless the user has tolerations for them.
void leave_lost_nodes_after(nlohmann::json& pod_spec, std::uint32_t seconds);

}  // namespace ratoon::kube
