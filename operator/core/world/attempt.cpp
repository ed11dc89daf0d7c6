#include "operator/core/world/attempt.h"

#include <algorithm>

#include "operator/core/members/notice.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

// Returns the newest attempt that any process has reported. The job's status may have an older one if the
// status was lost or restored, but agents accept only attempts that are newer than their own.
Attempt newest_reported_attempt(const Observation& seen) {
  Attempt newest{0};
  for (const auto& process : seen.processes) {
    if (process.beat) newest = std::max(newest, process.beat->attempt);
    if (process.join_request) newest = std::max(newest, process.join_request->left_attempt);
  }
  return newest;
}

}  // namespace

bool keep_world(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status) {
  if (status.is_world_formed && change.keeps_world() && is_intact(seen, status.members)) return true;
  promote_ready_successors(seen, status.members);
  const Attempt heard = newest_reported_attempt(seen);
  if (status.is_world_formed || status.attempt.value() == 0 || heard >= status.attempt) {
    status.attempt = std::max(status.attempt, heard).next();
    status.is_world_formed = false;
    status.world_size = 0;
    status.world_formed_at.reset();
  }
  if (!status.world_awaited_since) status.world_awaited_since = seen.wall_now;
  return false;
}

}  // namespace ratoon::core
