#include "operator/core/policy/time_limit.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "operator/core/policy/finish.h"
#include "operator/core/policy/suspend.h"
#include "operator/core/status/progress.h"

namespace ratoon::core {

void start_active_time(WallTime now, api::TrainingJobStatus& status) {
  if (!status.active_since) status.active_since = now;
}

void stop_active_time(WallTime now, api::TrainingJobStatus& status) {
  if (!status.active_since) return;
  // If the wall clock was set back, the elapsed time counts as zero and not as negative.
  const Duration passed = std::max(Duration(0), now.since_epoch - status.active_since->since_epoch);
  status.active_seconds +=
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
  status.active_since.reset();
}

std::optional<WallTime> time_limit_end(const api::TrainingJobSpec& spec,
                                       const api::TrainingJobStatus& status) {
  if (spec.max_duration_seconds == 0 || !status.active_since) return std::nullopt;
  const std::uint64_t left =
      spec.max_duration_seconds - std::min<std::uint64_t>(spec.max_duration_seconds, status.active_seconds);
  return WallTime{status.active_since->since_epoch + std::chrono::seconds(left)};
}

Decision end_at_time_limit(const Observation& seen, const RosterChange& change,
                           std::optional<Timestamp> next_check, api::TrainingJobStatus status) {
  if (!status.suspending_since) status.suspending_since = seen.wall_now;
  const std::string limit = "maxDurationSeconds (" + std::to_string(seen.job.spec.max_duration_seconds) + ")";
  if (auto draining = drain(seen, change, next_check, limit + " is over", status))
    return std::move(*draining);
  record_saves_before_leaving(seen.processes, status);
  const std::string saved = status.last_checkpoint
                                ? "the checkpoint of step " +
                                      std::to_string(status.last_checkpoint->step.value()) + " is the newest"
                                : "nothing was saved";
  return finish(seen, std::move(status), api::JobPhase::kFailed, limit + " is over; " + saved,
                change.actions);
}

}  // namespace ratoon::core
