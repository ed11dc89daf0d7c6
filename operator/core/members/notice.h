// Reads notices that a node or pod will end soon. Each member on a node that will end gets a successor: a pod
// that is created while the member still trains.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The taint that a simulated node of a local run (`ratoon run`) gets before it ends.
inline constexpr std::string_view kReclaimTaint = "ratoon.dev/reclaim";

// Returns in a few words why this node will end, or an empty text if nothing announces its end.
[[nodiscard]] std::string find_notice(const api::Node& node, const api::DisruptionPolicy& policy);

// Returns why the node with this name will end, or an empty text if the node is unknown or will stay.
[[nodiscard]] std::string find_node_notice(const Observation& seen, const std::string& node_name);

// Returns when this node will end: the announced time, or the time that its cloud allows after this taint.
// Returns nothing for a cordon or an autoscaler's taint: these leave each pod its grace period, which begins
// when the pod gets SIGTERM.
[[nodiscard]] std::optional<WallTime> find_node_end(const api::Node& node, WallTime wall_now);

// Stores when each member's node will end. For a taint without a time, the time counts from the moment when
// the operator first saw the taint, so a stored time is never postponed. If the end of a node is no longer
// announced, removes its stored time.
void note_node_ends(const Observation& seen, std::vector<api::MemberStatus>& members);
// Returns when the member's node or pod will end, whichever is earlier, or nothing if no time is known.
[[nodiscard]] std::optional<WallTime> end_of_member(const Observation& seen, const api::MemberStatus& member);
[[nodiscard]] std::vector<api::Departure> departures_of(const Observation& seen,
                                                        const std::vector<api::MemberStatus>& members);

// Returns when the first grace period among the pods that are being deleted ends.
[[nodiscard]] std::optional<WallTime> next_pod_end(const Observation& seen);

// Names a successor for each member of the world that must leave its node and has not completed: its node or
// pod will end, or other nodes cannot connect to its node. Returns an event for each successor.
[[nodiscard]] std::vector<Action> name_successors(const Observation& seen,
                                                  std::vector<api::MemberStatus>& members);

// Returns whether all processes of the member's successor run and wait for a world.
[[nodiscard]] bool is_successor_ready(const Observation& seen, const api::MemberStatus& member);

// Replaces members by their ready successors. Call this only while no world trains, because the replacement
// of a member ends the world.
void promote_ready(const Observation& seen, std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
