// Gang start: a world is formed when every process that has not completed waits to join. The world ends as
// soon as one of its processes is gone or waits again. A completed process is not needed: the last checkpoint
// was committed before the process reported completion, so that the others resume at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether all processes of the present world are alive and still in it.
[[nodiscard]] bool is_intact(const Observation& seen, const std::vector<api::MemberStatus>& members);

// Whether all processes of this incarnation wait for an attempt, or have completed.
[[nodiscard]] bool is_ready(const Observation& seen, const api::MemberStatus& member);

struct Gang {
  std::vector<JoinRequest> joiners;  // in rank order, whether complete or not
  std::size_t needed = 0;

  [[nodiscard]] bool is_complete() const { return joiners.size() == needed; }
};

// The processes of current incarnations that wait for an attempt, without absent members.
[[nodiscard]] Gang gather(const Observation& seen, const std::vector<api::MemberStatus>& members);

// The assignments for a complete gang.
[[nodiscard]] std::vector<api::Seat> assign_seats(const Gang& gang, Attempt attempt, double beat_seconds,
                                                  const std::optional<ResumePoint>& resume);

}  // namespace ratoon::core
