#include "operator/core/world/attempt.h"

#include <algorithm>

#include "operator/core/members/notice.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

// Returns the newest attempt in which any process has been. Even if the job's status is lost or restored, the
// attempt number must not decrease, because agents accept only newer attempts.
Attempt newest_heard(const Observation& seen) {
  Attempt newest{0};
  for (const auto& process : seen.processes) {
    if (process.beat) newest = std::max(newest, process.beat->attempt);
    if (process.waiting) newest = std::max(newest, process.waiting->left_attempt);
  }
  return newest;
}

}  // namespace

bool keep_world(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status) {
  if (status.is_formed && change.keeps_world() && is_intact(seen, status.members)) return true;
  promote_ready(seen, status.members);
  const Attempt heard = newest_heard(seen);
  if (status.is_formed || status.attempt.value() == 0 || heard >= status.attempt) {
    status.attempt = std::max(status.attempt, heard).next();
    status.is_formed = false;
    status.world_size = 0;
    status.formed_at.reset();
  }
  if (!status.waiting_since) status.waiting_since = seen.wall_now;
  return false;
}

}  // namespace ratoon::core
