#include "operator/core/policy/time_to_live.h"

#include <algorithm>
#include <chrono>

namespace ratoon::core {

std::optional<WallTime> expires_at(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& status) {
  if (!spec.ttl_seconds_after_finished || !status.completed_at) return std::nullopt;
  return WallTime{status.completed_at->since_epoch + std::chrono::seconds(*spec.ttl_seconds_after_finished)};
}

void expire_job(const Observation& seen, Timestamp now, Decision& decision) {
  const auto expiry = expires_at(seen.job.spec, decision.status);
  if (!expiry) return;
  if (seen.job.status.completed_at && *expiry <= seen.wall_now) {
    decision.actions.emplace_back(DeleteJob{.uid = seen.job.meta.uid});
  } else {
    decision.wake_at = now + std::max(Duration(0), expiry->since_epoch - seen.wall_now.since_epoch);
  }
}

}  // namespace ratoon::core
