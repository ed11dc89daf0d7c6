// Loss by silence: which members have missed so many beats that they count as lost.
//
// Silence of others can be our own deafness. So nothing is concluded until the coordinator has itself
// listened for the whole time. While the silent are on more nodes than the others, or are all that the job
// has in their zone, on several nodes (a network or a stall, not a loss), the judgement is put off until ten
// times the limit. Losses settle before they are weighed: who missed all but the last beat counts among the
// silent.
//
// A process that was in no world yet is still starting, on a machine that may be overloaded because others
// are: it is not silent, whatever it beats, until the job's start deadline has passed without a word of it.
// While it is quiet no world is formed with it. Trouble of its node counts as for others.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// How many times the limit of one the silence of many may last.
inline constexpr int kMassFactor = 10;

struct Silence {
  std::vector<api::MemberStatus> lost;  // incarnations that are judged lost
  std::optional<Timestamp> next_check;  // the earliest moment at which another member may count as lost
  std::vector<ProcessIdentity> quiet;   // that wait for a world and were not heard for the limit
};

[[nodiscard]] Silence find_silent(const Observation& seen, Timestamp now);

// The same without the wish of these to join a world: it counts again once they are heard.
[[nodiscard]] Observation without_joins_of(const std::vector<ProcessIdentity>& quiet, Observation seen);

}  // namespace ratoon::core
