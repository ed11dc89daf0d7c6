// Notice: which nodes and pods will go soon, and what follows: a successor for each member there, made while
// the member trains on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// Of a local run's nodes, which are names: what they get before they go.
inline constexpr std::string_view kReclaimTaint = "ratoon.dev/reclaim";

// Why this node will go, in a few words; empty: nothing says that it will.
[[nodiscard]] std::string find_notice(const api::Node& node, const api::DisruptionPolicy& policy);

// The same for the node of that name, as far as it is known.
[[nodiscard]] std::string find_node_notice(const Observation& seen, const std::string& node_name);

// When that node will go: as whoever ends it says, or after the time that its cloud leaves after this taint.
// Nothing for a cordon or an autoscaler's taint: they leave each pod its grace period, from a signal of its
// own on.
[[nodiscard]] std::optional<WallTime> find_node_end(const api::Node& node, WallTime wall_now);

// Keeps when each member's node will go. What was once said is not put off: a taint that does not tell when
// it was added is as old as our first look at it. News that is taken back is forgotten.
void note_node_ends(const Observation& seen, std::vector<api::MemberStatus>& members);
// When its node or its pod will go, whichever is first; nothing: nothing says when.
[[nodiscard]] std::optional<WallTime> end_of_member(const Observation& seen, const api::MemberStatus& member);
[[nodiscard]] std::vector<api::Departure> departures_of(const Observation& seen,
                                                        const std::vector<api::MemberStatus>& members);

// When the first pod that is being deleted, and has time left, will have none.
[[nodiscard]] std::optional<WallTime> next_pod_end(const Observation& seen);

// Names a successor for each member that sits, is not done and whose node or pod will go, and tells people.
[[nodiscard]] std::vector<Action> name_successors(const Observation& seen,
                                                  std::vector<api::MemberStatus>& members);

// Whether all processes of the successor wait for a world.
[[nodiscard]] bool is_successor_ready(const Observation& seen, const api::MemberStatus& member);

// Ready successors take over. Only while no world stands, or the old one would be cut off in the middle.
void promote_ready(const Observation& seen, std::vector<api::MemberStatus>& members);

}  // namespace ratoon::core
