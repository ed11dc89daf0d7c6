// Finds members that have missed so many beats that they count as lost.
//
// The cause of silence may be on the operator's side. Therefore no member is judged until the coordinator has
// itself listened for the whole limit (suspectAfterSeconds). The limit is ten times as long while more nodes
// are silent than send beats, or while a zone with several nodes is silent as a whole: that is a sign of a
// network fault or a stall. When silent nodes are counted, a member whose silence is within one heartbeat of
// the limit counts as silent already.
//
// A process that was in no world yet is still starting, perhaps on a machine that other starts overload. A
// starting process counts as silent only after it has sent no message for the job's start deadline. After the
// normal limit a starting process counts as quiet, and no world is formed with it. A lost node ends a
// starting process like any other process.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// How many times longer the silence of most nodes may last than the silence of one member.
inline constexpr int kMassFactor = 10;

struct SilentMembers {
  std::vector<api::MemberStatus> lost;  // incarnations that are lost
  std::optional<Timestamp> next_check;  // the earliest time at which another member may count as lost
  std::vector<ProcessIdentity> quiet;   // they wait for a world and have been silent for the limit
};

[[nodiscard]] SilentMembers find_silent(const Observation& seen, Timestamp now);

// Returns how long a process of the world may send no message: suspectAfterSeconds, or longer if its
// assignment has a longer beat interval.
[[nodiscard]] Duration limit_of_silence(const Observation& seen);

// Returns the same observation without the join requests of quiet processes. A request counts again as soon
// as its process sends another message.
[[nodiscard]] Observation without_joins_of(const std::vector<ProcessIdentity>& quiet, Observation seen);

}  // namespace ratoon::core
