// Gang start: a world is formed when every process that has not completed waits to join. The world ends as
// soon as one of its processes is gone or asks to join again. A completed process need not join again: it
// completed after the commit of the last checkpoint, so the other processes resume at the end of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether all processes of the current world are alive and have not left it.
[[nodiscard]] bool is_intact(const Observation& seen, const std::vector<api::MemberStatus>& members);

// Returns whether all processes of the member's incarnation wait for the next world or have completed.
[[nodiscard]] bool is_ready(const Observation& seen, const api::MemberStatus& member);

struct Gang {
  std::vector<JoinRequest> joiners;  // in rank order, whether complete or not
  std::size_t needed = 0;

  [[nodiscard]] bool is_complete() const { return joiners.size() == needed; }
};

// Returns the processes of current incarnations that wait for the next world, without the processes of absent
// members.
[[nodiscard]] Gang gather_joiners(const Observation& seen, const std::vector<api::MemberStatus>& members);

// Returns an assignment (rank, world size, ...) for each process of a complete gang.
[[nodiscard]] std::vector<api::AssignedProcess> assign_ranks(const Gang& gang, Attempt attempt,
                                                             double beat_seconds,
                                                             const std::optional<ResumePoint>& resume);

}  // namespace ratoon::core
