#include <algorithm>

#include "operator/local/runner.h"

namespace ratoon::local {
namespace {

// Whatever became of the last attempt, what it left on the disk is its own. And no world outlives its runner:
// who held its seat would be silent, and what it did last is long ago.
void begin_next_attempt(api::TrainingJobStatus& status) {
  status.attempt = status.attempt.next();
  status.is_formed = false;
  status.world_size = 0;
  status.formed_at.reset();
  status.stepped_at.reset();
}

}  // namespace

api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec, api::TrainingJobStatus status) {
  if (status.phase == api::JobPhase::kSucceeded) return status;
  if (status.phase == api::JobPhase::kFailed) {  // a person decided to try again
    status.restarts = {.disruption = status.restarts.disruption};
    status.active_seconds = 0;
  }
  status.active_since.reset();  // while no runner was there, nobody worked
  status.suspending_since.reset();
  status.completed_at.reset();
  status.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message.clear();
  if (status.attempt.value() != 0) begin_next_attempt(status);
  for (auto& member : status.members) {
    // A process of the last run may still be on its way out: fence it.
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    if (member.is_completed && !api::is_group(spec)) continue;
    member = {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""};
  }
  return status;
}

api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status) {
  api::TrainingJobStatus fresh;
  fresh.lineage_start = Attempt(0);
  fresh.attempt = status.attempt;
  fresh.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  if (status.attempt.value() != 0) begin_next_attempt(fresh);
  for (const auto& member : status.members) {
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    fresh.members.push_back(
        {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""});
  }
  return fresh;
}

}  // namespace ratoon::local
