// Finds processes, seats and pods of an observation by binary search. Rules look up these objects for each
// member, so that linear searches would take quadratic time in a job with thousands of members.
#pragma once

#include <cstdint>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the same observation with an index. Without the index the lookups below read all items.
[[nodiscard]] Observation with_index(Observation seen);

// Processes that name this incarnation as theirs, in any pod.
[[nodiscard]] std::vector<const api::ProcessFacts*> processes_of(const Observation& seen,
                                                                 const api::MemberStatus& member);
// nullptr if the process is unknown.
[[nodiscard]] const api::ProcessFacts* find_process(const Observation& seen, const ProcessIdentity& identity);
// Seats of processes that name this incarnation as theirs.
[[nodiscard]] std::vector<const api::Seat*> seats_of(const Observation& seen,
                                                     const api::MemberStatus& member);
[[nodiscard]] const api::Seat* find_seat(const Observation& seen, const ProcessIdentity& identity);
// Pods of this incarnation, in the order of the observation.
[[nodiscard]] std::vector<const api::Pod*> pods_of(const Observation& seen, const api::MemberStatus& member);

}  // namespace ratoon::core
