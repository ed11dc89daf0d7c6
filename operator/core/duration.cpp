#include "operator/core/duration.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "operator/core/finish.h"
#include "operator/core/progress.h"
#include "operator/core/suspend.h"

namespace ratoon::core {

void resume_time(WallTime now, api::TrainingJobStatus& status) {
  if (!status.active_since) status.active_since = now;
}

void stop_time(WallTime now, api::TrainingJobStatus& status) {
  if (!status.active_since) return;
  // A clock that was set back takes nothing away.
  const Duration passed = std::max(Duration(0), now.since_epoch - status.active_since->since_epoch);
  status.active_seconds +=
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
  status.active_since.reset();
}

std::optional<WallTime> end_of_time(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& status) {
  if (spec.max_duration_seconds == 0 || !status.active_since) return std::nullopt;
  const std::uint64_t left =
      spec.max_duration_seconds - std::min<std::uint64_t>(spec.max_duration_seconds, status.active_seconds);
  return WallTime{status.active_since->since_epoch + std::chrono::seconds(left)};
}

Decision end_in_time(const Observation& seen, const RosterChange& change, std::optional<Timestamp> next_check,
                     api::TrainingJobStatus status) {
  if (!status.suspending_since) status.suspending_since = seen.wall_now;
  const std::string limit = "maxDurationSeconds (" + std::to_string(seen.job.spec.max_duration_seconds) + ")";
  if (auto draining = drain(seen, change, next_check, limit + " is over", status))
    return std::move(*draining);
  note_left(seen.processes, status);
  const std::string saved = status.last_checkpoint
                                ? "the checkpoint of step " +
                                      std::to_string(status.last_checkpoint->step.value()) + " is its newest"
                                : "nothing was saved";
  return finish(seen, std::move(status), api::JobPhase::kFailed, limit + " is over; " + saved,
                change.actions);
}

}  // namespace ratoon::core
