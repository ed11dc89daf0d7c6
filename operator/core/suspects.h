// Nodes that lost a member: no member goes there for a while, since a dead node stays schedulable until the
// platform notices.
#pragma once

#include <string>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// The suspects of the status without those whose time is up, and with the nodes of these losses.
[[nodiscard]] std::vector<api::SuspectNode> update_suspects(const Observation& seen,
                                                            const std::vector<Loss>& losses);

// Suspects, and nodes that will go.
[[nodiscard]] std::vector<std::string> nodes_to_avoid(const Observation& seen,
                                                      const std::vector<api::SuspectNode>& suspects);

}  // namespace ratoon::core
