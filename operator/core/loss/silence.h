// Finds members that have missed so many heartbeats that they count as lost.
//
// After a restart, for example, the operator itself may be the cause of a silence. So no member counts as
// lost until the coordinator has received messages for the whole limit of silence (suspectAfterSeconds). The
// limit is ten times as long while more nodes are silent than send heartbeats, or while all nodes of a zone
// with several nodes are silent: both are signs of a network fault or a stall. In the count of silent nodes,
// a node is silent already one heartbeat interval before the limit.
//
// A process that was in no world yet is still starting, perhaps on a machine that the starts of other
// processes overload. A starting process counts as silent only after it has sent no message for the job's
// start deadline. A starting process that has sent no message for the normal limit counts as quiet, and no
// world is formed with it. A starting process whose node is lost counts as lost like any other process.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The silence of most nodes may last kMassSilenceFactor times as long as the silence of one member.
inline constexpr int kMassSilenceFactor = 10;

struct SilentMembers {
  std::vector<api::MemberStatus> lost;  // incarnations that are lost
  std::optional<Timestamp> next_check;  // the earliest time at which another member may count as lost
  std::vector<ProcessIdentity> quiet_processes;  // they wait for a world and have been silent for the limit
};

[[nodiscard]] SilentMembers find_silent_members(const Observation& seen, Timestamp now);

// Returns how long a process of the world may send no message: suspectAfterSeconds, or longer if its
// assignment has a longer heartbeat interval.
[[nodiscard]] Duration silence_limit(const Observation& seen);

// Returns the observation `seen` without the join requests of quiet processes. When a quiet process sends its
// next message, its join request counts again.
[[nodiscard]] Observation without_join_requests_of(const std::vector<ProcessIdentity>& quiet,
                                                   Observation seen);

}  // namespace ratoon::core
