// Notices of nodes and pods that end soon. Each member on such a node gets a successor, which is created
// while the member still trains.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The taint that the nodes of a local run, which are only names, get before they end.
inline constexpr std::string_view kReclaimTaint = "ratoon.dev/reclaim";

// The reason why this node will end, in a few words; empty: no sign of an end.
[[nodiscard]] std::string find_notice(const api::Node& node, const api::DisruptionPolicy& policy);

// Returns the reason for the node of that name, if the node is known.
[[nodiscard]] std::string find_node_notice(const Observation& seen, const std::string& node_name);

// The time at which that node will end: the announced time, or the time that its cloud allows after this
// taint. There is no value for a cordon or an autoscaler's taint: these leave each pod its grace period,
// which begins with the pod's own signal.
[[nodiscard]] std::optional<WallTime> find_node_end(const api::Node& node, WallTime wall_now);

// Stores when each member's node will end. A stored time is never postponed: a taint without a time counts
// from its first observation. A notice that is withdrawn is removed.
void note_node_ends(const Observation& seen, std::vector<api::MemberStatus>& members);
// The time at which its node or its pod will end, whichever is earlier; nothing: no time is known.
[[nodiscard]] std::optional<WallTime> end_of_member(const Observation& seen, const api::MemberStatus& member);
[[nodiscard]] std::vector<api::Departure> departures_of(const Observation& seen,
                                                        const std::vector<api::MemberStatus>& members);

// The earliest time at which the grace period of a pod that is being deleted ends.
[[nodiscard]] std::optional<WallTime> next_pod_end(const Observation& seen);

// Names a successor, with an event, for each member of the world that has not completed and has to leave its
// node: the node or the pod will end, or the node is without connections.
[[nodiscard]] std::vector<Action> name_successors(const Observation& seen,
                                                  std::vector<api::MemberStatus>& members);

// Whether all processes of the successor wait for a world.
[[nodiscard]] bool is_successor_ready(const Observation& seen, const api::MemberStatus& member);

// Replaces members by their ready successors. Call this only while no world exists: otherwise it would end
// the old world.
void promote_ready(const Observation& seen, std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
