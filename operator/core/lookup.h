// Finds processes, seats and pods of a look without reading all of them: of a job with thousands of members
// each rule asks for each member, and a look would take time that grows with the square of their number.
#pragma once

#include <cstdint>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The same with its order: questions are answered by halving. Without it they read everything.
[[nodiscard]] Observation with_order(Observation seen);

// Processes that say that they are of this incarnation, whichever pod they run in.
[[nodiscard]] std::vector<const api::ProcessFacts*> processes_of(const Observation& seen,
                                                                 const api::MemberStatus& member);
// nullptr: it is not known.
[[nodiscard]] const api::ProcessFacts* find_process(const Observation& seen, const ProcessIdentity& identity);
// Seats of processes that say that they are of this incarnation.
[[nodiscard]] std::vector<const api::Seat*> seats_of(const Observation& seen,
                                                     const api::MemberStatus& member);
[[nodiscard]] const api::Seat* find_seat(const Observation& seen, const ProcessIdentity& identity);
// Pods of this incarnation, in the order in which they are seen.
[[nodiscard]] std::vector<const api::Pod*> pods_of(const Observation& seen, const api::MemberStatus& member);

}  // namespace ratoon::core
