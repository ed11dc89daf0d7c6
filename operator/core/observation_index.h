// Finds processes, seats (ranks) and pods of an observation by binary search. The rules search for each
// member, so linear searches would take quadratic time in a job with thousands of members.
#pragma once

#include <cstdint>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns the observation `seen` with an index. If an observation has no index, the functions below read all
// its items.
[[nodiscard]] Observation with_index(Observation seen);

// Returns the processes that report this incarnation as their own. They may report the UID of any pod.
[[nodiscard]] std::vector<const api::ProcessFacts*> processes_of(const Observation& seen,
                                                                 const api::MemberStatus& member);
// Returns the facts about the process, or null if the process is unknown.
[[nodiscard]] const api::ProcessFacts* find_process(const Observation& seen, const ProcessIdentity& identity);
// Returns the seats (ranks) of the processes that report this incarnation as their own.
[[nodiscard]] std::vector<const api::AssignedProcess*> assigned_processes_of(const Observation& seen,
                                                                             const api::MemberStatus& member);
[[nodiscard]] const api::AssignedProcess* find_assigned_process(const Observation& seen,
                                                                const ProcessIdentity& identity);
// Returns the pods of this incarnation, in the order of the observation.
[[nodiscard]] std::vector<const api::Pod*> pods_of(const Observation& seen, const api::MemberStatus& member);

}  // namespace ratoon::core
