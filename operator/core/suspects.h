// Nodes that lost a member: no member goes there for a while, since a dead node stays schedulable until the
// platform notices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// The suspects of the status without those whose time is up or that gave a sign of life, and with the nodes
// of these losses.
[[nodiscard]] std::vector<api::SuspectNode> update_suspects(const Observation& seen,
                                                            const std::vector<Loss>& losses);

// Since when it is one.
[[nodiscard]] WallTime suspected_since(const Observation& seen, const api::SuspectNode& suspect);

// When the first of them is one no more.
[[nodiscard]] std::optional<WallTime> next_end(const std::vector<api::SuspectNode>& suspects);

// Suspects, and nodes that will go.
[[nodiscard]] std::vector<std::string> nodes_to_avoid(const Observation& seen,
                                                      const std::vector<api::SuspectNode>& suspects);

// A pod that waits for a node keeps away from those that were to be avoided when it was made. Where one of
// them may be used again, the pod is made anew under its next incarnation; nothing was lost, nothing is
// counted.
void remake_unplaced(const Observation& seen, const std::vector<std::string>& avoid_nodes,
                     std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
