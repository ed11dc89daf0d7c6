// Reads notices that a node or pod will end soon. Each member on a node that will end gets a successor: a pod
// that is created while the member still trains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/members/notice_rules.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns why and when this node will end, by the operator's rules and the job's own taints, or nothing if no
// end is announced.
[[nodiscard]] std::optional<NodeNotice> find_notice(const Observation& seen, const api::Node& node);

// Returns in a few words why the node with this name will end, or an empty text if the node is unknown or
// will stay.
[[nodiscard]] std::string find_node_notice(const Observation& seen, const std::string& node_name);

// Returns when this node will end, if its notices contain a time.
[[nodiscard]] std::optional<WallTime> find_node_end_time(const Observation& seen, const api::Node& node);

// Returns when the next notice of any node will begin; notices that have begun already do not count.
[[nodiscard]] std::optional<WallTime> next_notice_time_of_nodes(const Observation& seen);

// Stores when each member's node will end. For a taint without a time, the operator computes the node's end
// from the moment when it first saw the taint, and never postpones a stored time. If a node's end is no
// longer announced, removes its stored time.
void record_node_end_times(const Observation& seen, std::vector<api::MemberStatus>& members);
// Returns when the member's node or pod will end, whichever is earlier, or nothing if no time is known.
[[nodiscard]] std::optional<WallTime> end_time_of_member(const Observation& seen,
                                                         const api::MemberStatus& member);
[[nodiscard]] std::vector<api::Departure> departures_of(const Observation& seen,
                                                        const std::vector<api::MemberStatus>& members);

// Returns the earliest end of a grace period among the pods that are being deleted.
[[nodiscard]] std::optional<WallTime> next_pod_end_time(const Observation& seen);

// Returns whether the program in this pod, whose member was replaced, may still use the time of a notice.
// With the agent, a member has saved before its successor takes over. A program that ratoon-launcher started
// may save for longer than the other programs of its world, and the first program that ends makes the
// successor take over. A program that was replaced because it was silent has no time.
[[nodiscard]] bool may_still_save(const Observation& seen, const api::Pod& pod);

// Names a successor for each member of the world that has not completed and must leave its node, because its
// node or pod will end or other nodes cannot connect to its node. Returns an event for each successor.
[[nodiscard]] std::vector<Action> assign_successors(const Observation& seen,
                                                    std::vector<api::MemberStatus>& members);

// Returns whether all processes of the member's successor run and wait for a world.
[[nodiscard]] bool is_successor_ready(const Observation& seen, const api::MemberStatus& member);

// Replaces members by their ready successors. Call promote_ready_successors() only while no world trains,
// because the replacement of a member ends the world.
void promote_ready_successors(const Observation& seen, std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
