// Members without the agent form one group. Members without the agent send no messages, so only their pods
// and nodes are known. Each member received its rank and the world's size at its start, so no member can be
// replaced by itself: the loss of one replaces all.
#pragma once

#include <optional>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// The environment of this member's pod. Nothing while the pod of the first member, whose address all others
// need, has no address, or while programs of the last group may run. The address is not a DNS name, so that
// no member waits for a resolver, and no cache leads to the last group.
[[nodiscard]] std::optional<api::GroupSeat> find_group_seat(const Observation& seen,
                                                            const std::vector<api::MemberStatus>& members,
                                                            const api::MemberStatus& member);

// A pod of the last group whose program may still run. A program without the agent cannot be fenced, and two
// groups at once would overwrite each other's files. Pods on lost nodes do not count, and pods that still
// exist long after their grace period do not count either.
[[nodiscard]] const api::Pod* find_previous_group_pod(const Observation& seen,
                                                      const std::vector<api::MemberStatus>& members);
// The time at which such a pod no longer counts. There is no value for a group that already runs.
[[nodiscard]] std::optional<WallTime> previous_group_deadline(const Observation& seen,
                                                              const api::TrainingJobStatus& status);

// Whether the program in this pod reached its end. A program that exits with 0 because its pod or node ends
// was only interrupted.
[[nodiscard]] bool has_reached_end(const Observation& seen, const api::Pod& pod);

// Whether the pod with rank 0 is not the pod whose address the others received. The first pod vanished before
// its existence was stored, and may have been created again under its name.
[[nodiscard]] bool has_lost_rank0_pod(const Observation& seen);

// Whether a member of the group was lost by an outside cause. The function reads all pods: call it once per
// decision, not once per member.
[[nodiscard]] bool is_any_member_disrupted(const Observation& seen);

// The classification of an end in a group. If a member was lost by an outside cause, the failures of its
// peers follow from that. Failures that happen together count as one.
[[nodiscard]] MemberEnd classify_in_group(bool is_one_disrupted, MemberEnd ending);

// The time before which a failure is not classified, because the platform may report the failure of a peer
// first and the outside cause later. There is no value if the failure can be classified now.
[[nodiscard]] std::optional<WallTime> find_judgement_time(const Observation& seen, bool is_one_disrupted,
                                                          const api::Pod& pod);
// The earliest such time of all pods of the group.
[[nodiscard]] std::optional<WallTime> next_judgement_time(const Observation& seen);

// After the loss of one member, all members move to their next incarnation, including those that had
// completed, because a new member waits for all others. A pause of one member is a pause of all.
void restart_group(const Observation& seen, RosterChange& change);

// Whether the group has run together long enough to prove that it can start.
[[nodiscard]] bool has_run_long_enough(const Observation& seen);

}  // namespace ratoon::core
