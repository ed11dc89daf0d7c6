// Members without the agent form one group. They send no messages, so that only their pods and nodes are
// known. Each received its rank and the world's size at its start, so that no member can be replaced alone:
// the loss of one replaces all.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The environment of this member's pod. Nothing while the pod of the first member, whose address all others
// need, has no address, or while programs of the last group may run. The address is no DNS name: nothing
// waits for a resolver, and no cache leads to the last group.
[[nodiscard]] std::optional<api::GroupSeat> find_group_seat(const Observation& seen,
                                                            const std::vector<api::MemberStatus>& members,
                                                            const api::MemberStatus& member);

// A pod of the last group whose program may still run: it cannot be fenced, and two groups at once would
// overwrite each other's files. Pods on lost nodes do not count, nor pods that still exist long after their
// grace period.
[[nodiscard]] const api::Pod* find_previous_group_pod(const Observation& seen,
                                                      const std::vector<api::MemberStatus>& members);
// When such a pod no longer counts. Nothing for a group that already runs.
[[nodiscard]] std::optional<WallTime> previous_group_deadline(const Observation& seen,
                                                              const api::TrainingJobStatus& status);

// Whether the program in this pod reached its end. A program that exits with 0 because its pod or node ends
// was only interrupted.
[[nodiscard]] bool has_reached_end(const Observation& seen, const api::Pod& pod);

// Whether the pod with rank 0 is not the one whose address the others received. It vanished before its
// existence was stored, and may have been created again under its name.
[[nodiscard]] bool has_lost_rank0_pod(const Observation& seen);

// Whether a member of the group was lost by an outside cause. Reads all pods: call it once per decision, not
// once per member.
[[nodiscard]] bool is_any_member_disrupted(const Observation& seen);

// The classification of an end in a group. If a member was lost by an outside cause, the failures of its
// peers follow from that. Failures together count as one.
[[nodiscard]] MemberEnd classify_in_group(bool is_one_disrupted, MemberEnd ending);

// A failure is not classified before this time: the platform may report the failure of a peer first and the
// outside cause later. Nothing: it can be classified now.
[[nodiscard]] std::optional<WallTime> find_judgement_time(const Observation& seen, bool is_one_disrupted,
                                                          const api::Pod& pod);
// The first of these times.
[[nodiscard]] std::optional<WallTime> next_judgement_time(const Observation& seen);

// After the loss of one member, all members move to their next incarnation, including those that had
// completed, because a new member waits for all others. The pause of one is the pause of all.
void restart_group(const Observation& seen, RosterChange& change);

// Whether the group has run together long enough to prove that it can start.
[[nodiscard]] bool has_run_long_enough(const Observation& seen);

}  // namespace ratoon::core
