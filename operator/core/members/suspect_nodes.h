// Suspect nodes: nodes on which a member was lost, so the operator places no member on them for a while. A
// dead node stays schedulable until Kubernetes notices its failure, and Kubernetes never notices missing
// connections between nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the suspect nodes of the status, without those that have expired or are alive again, plus the nodes
// of the new losses.
[[nodiscard]] std::vector<api::SuspectNode> update_suspects(const Observation& seen,
                                                            const std::vector<Loss>& losses);

// Returns since when the node has been a suspect.
[[nodiscard]] WallTime suspected_since(const Observation& seen, const api::SuspectNode& suspect);

// Returns whether members on that node, which is alive, recently could not connect to members elsewhere.
[[nodiscard]] bool is_without_connections(const Observation& seen, const std::string& node);

// Returns when the first of the suspect nodes may be used again.
[[nodiscard]] std::optional<WallTime> next_suspicion_end(const std::vector<api::SuspectNode>& suspects);

// Returns suspect nodes and nodes that will end, in the order of their names.
[[nodiscard]] std::vector<api::NodeToAvoid> nodes_to_avoid(const Observation& seen,
                                                           const std::vector<api::SuspectNode>& suspects);

// The affinity of a pod excludes the nodes that the operator avoided when it created the pod. If a pod still
// waits for a node and an excluded node may be used again, this function replaces the pod by a new
// incarnation without that exclusion. The replaced pod does not count as a loss.
void recreate_unplaced(const Observation& seen, const std::vector<api::NodeToAvoid>& avoid_nodes,
                       std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
