// Nodes on which a member was lost. No member is placed on such nodes for a while, because a dead node stays
// schedulable until the platform notices, and the platform does not notice missing connections between nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The suspects in the status, without suspects that have expired or are alive again, and with the nodes of
// the given losses.
[[nodiscard]] std::vector<api::SuspectNode> update_suspects(const Observation& seen,
                                                            const std::vector<Loss>& losses);

// The time since when the node is a suspect.
[[nodiscard]] WallTime suspected_since(const Observation& seen, const api::SuspectNode& suspect);

// Whether members on that node, which is alive, could not connect to others a short while ago.
[[nodiscard]] bool is_without_connections(const Observation& seen, const std::string& node);

// The time at which the first suspect expires.
[[nodiscard]] std::optional<WallTime> next_end(const std::vector<api::SuspectNode>& suspects);

// Suspect nodes, and nodes that will end, in the order of their names.
[[nodiscard]] std::vector<api::NodeToAvoid> nodes_to_avoid(const Observation& seen,
                                                           const std::vector<api::SuspectNode>& suspects);

// The affinity of a pod that waits for a node excludes the nodes that were to be avoided when it was created.
// If an excluded node may be used again, the pod is replaced under its next incarnation. No member was lost,
// so no loss is counted.
void recreate_unplaced(const Observation& seen, const std::vector<api::NodeToAvoid>& avoid_nodes,
                       std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
