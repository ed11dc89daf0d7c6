#include <algorithm>

#include "operator/local/runner.h"

namespace ratoon::local {

api::TrainingJobStatus recover_status(api::TrainingJobStatus status) {
  if (status.phase == api::JobPhase::kSucceeded) return status;
  if (status.phase == api::JobPhase::kFailed)
    status.restarts.application = 0;  // a person decided to try again
  status.phase = status.attempt.value() == 0 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message.clear();
  // Whatever became of the last attempt, what it left on the disk is its own: the next decision takes a fresh
  // number.
  status.is_formed = status.attempt.value() != 0;
  for (auto& member : status.members) {
    // A process of the last run may still be on its way out: fence it.
    const std::uint32_t newest = std::max(member.incarnation, member.successor);
    if (member.is_completed) continue;
    member = {.role = member.role, .index = member.index, .incarnation = newest + 1, .uid = ""};
  }
  return status;
}

}  // namespace ratoon::local
