// Members without the agent: one group. Nobody hears them, so pods and nodes are all that is known of them;
// and as each was told its rank and the world's size at its start, a member cannot be replaced alone: the
// loss of one makes all anew.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "operator/core/roster.h"

namespace ratoon::core {

// What the pod of this member is to be told; nothing while the pod of the first member, whose address all
// need, has none, or while programs of the group before may run. An address and no name: nothing waits for a
// resolver, and nothing remembers the group before.
[[nodiscard]] std::optional<api::GroupSeat> find_group_seat(const Observation& seen,
                                                            const std::vector<api::MemberStatus>& members,
                                                            const api::MemberStatus& member);

// A pod of the group before whose program may still run: nobody fences it, and two groups at once would write
// over each other. One on a lost node is not waited for, nor one that its kubelet does not end long after its
// grace.
[[nodiscard]] const api::Pod* find_former(const Observation& seen,
                                          const std::vector<api::MemberStatus>& members);
// When such a pod is no longer waited for; a group that stands waits for none.
[[nodiscard]] std::optional<WallTime> end_of_former(const Observation& seen,
                                                    const api::TrainingJobStatus& status);

// Whether the program in this pod reached its end. One that leaves with 0 because its pod or node goes took
// the signal for the end of its work.
[[nodiscard]] bool has_reached_end(const Observation& seen, const api::Pod& pod);

// Whether the pod with rank 0 is not the one that others were told of. It vanished before anybody stored that
// it was there, and may have been made a second time under its name.
[[nodiscard]] bool has_lost_meeting(const Observation& seen);

// Whether one of the group was taken away from outside. Looks at all of them: to be asked once a look, and
// not for each.
[[nodiscard]] bool is_anybody_taken(const Observation& seen);

// Why a pod of a group ended. The peers of one that was taken away fail because of that, whatever they say;
// and of those that fail together one is to blame.
[[nodiscard]] Ending judge_in_group(bool is_one_taken, Ending ending);

// A failure is not judged before this moment: the platform may tell of a peer's failure first, and of what
// was taken away later. Nothing: it can be judged.
[[nodiscard]] std::optional<WallTime> find_judgement(const Observation& seen, bool is_one_taken,
                                                     const api::Pod& pod);
// The first of those moments.
[[nodiscard]] std::optional<WallTime> next_judgement(const Observation& seen);

// After the loss of one, all move to their next incarnation, those too that had reached the end: who is made
// again waits for all. Pauses of one are pauses of all.
void restart_group(const Observation& seen, RosterChange& change);

// Whether the group has run together for long enough to count as one that can start.
[[nodiscard]] bool has_proved_itself(const Observation& seen);

}  // namespace ratoon::core
