// Loss by silence: members that have missed so many beats that they count as lost.
//
// The cause of silence may be on the operator's side. Therefore no member is judged until the coordinator has
// itself listened for the whole limit. The judgement waits for ten times the limit while more nodes are
// silent than not, or while all members in one zone are silent on several nodes. The silence of most nodes or
// of a whole zone is a sign of a network fault or a stall. In the comparison of silent nodes, a member whose
// silence is within one heartbeat of the limit counts as silent already.
//
// A process that was in no world yet is still starting, perhaps on a machine that is overloaded by other
// starts. A process that is still starting counts as silent only after it has sent no message for the job's
// start deadline. While a process is quiet, no world is formed with it. The loss of its node counts for a
// quiet process as for other processes.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// How many times longer a mass silence may last than that of one member.
inline constexpr int kMassFactor = 10;

struct SilentMembers {
  std::vector<api::MemberStatus> lost;  // incarnations that are lost
  std::optional<Timestamp> next_check;  // the earliest time at which another member may count as lost
  std::vector<ProcessIdentity> quiet;   // they wait for a world and have been silent for the limit
};

[[nodiscard]] SilentMembers find_silent(const Observation& seen, Timestamp now);

// The time for which a process of the world may send no message: suspectAfterSeconds, or longer if it was
// told to beat more slowly when it joined.
[[nodiscard]] Duration limit_of_silence(const Observation& seen);

// Returns the same observation without the join requests of quiet processes. The requests count again with
// the next message of the processes.
[[nodiscard]] Observation without_joins_of(const std::vector<ProcessIdentity>& quiet, Observation seen);

}  // namespace ratoon::core
