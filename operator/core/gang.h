// Gang start: a world is formed when every process that has not completed waits to join, and dissolved as
// soon as one of its processes is gone or waits again. Processes that completed are done: the last checkpoint
// was committed before they said so, hence those that remain find themselves at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Whether the world that was handed out still consists of living processes that are in it.
[[nodiscard]] bool is_intact(const Observation& seen, const std::vector<api::MemberStatus>& members);

// Whether all processes of this incarnation wait for an attempt, or are done.
[[nodiscard]] bool is_ready(const Observation& seen, const api::MemberStatus& member);

struct Gang {
  std::vector<JoinRequest> joiners;  // in rank order; complete or not
  std::size_t needed = 0;

  [[nodiscard]] bool is_complete() const { return joiners.size() == needed; }
};

// Those of the current incarnations that wait for an attempt; absent members are not asked.
[[nodiscard]] Gang gather(const Observation& seen, const std::vector<api::MemberStatus>& members);

// Seats for a complete gang.
[[nodiscard]] std::vector<api::Seat> assign_seats(const Gang& gang, Attempt attempt, double beat_seconds,
                                                  const std::optional<ResumePoint>& resume);

}  // namespace ratoon::core
