#include "operator/core/status/ledger.h"

#include <algorithm>
#include <optional>

#include "operator/core/members/roster.h"
#include "operator/core/world/release_nodes.h"

namespace ratoon::core {
namespace {

using api::TimeLedgerPart;

// Truncates to milliseconds, as the status stores times, so that sums of stored times are exact.
WallTime to_milliseconds(WallTime time) {
  return {std::chrono::floor<std::chrono::milliseconds>(time.since_epoch)};
}

bool is_training_part(TimeLedgerPart part) {
  return part == TimeLedgerPart::kUseful || part == TimeLedgerPart::kRecomputed;
}

bool lacks_capacity(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  if (!seen.refusal.empty()) return true;
  return std::ranges::any_of(seen.pods, [&](const api::Pod& pod) {
    return !pod.unplaced_reason.empty() && !pod.is_deleting && !pod.has_ended() && is_in_roster(pod, members);
  });
}

// Returns the newest step that a process of this attempt has reported.
std::optional<Step> newest_reported_step(const Observation& seen, Attempt attempt) {
  std::optional<Step> reached;
  for (const auto& process : seen.processes)
    if (process.beat && process.beat->attempt == attempt)
      reached = std::max(reached.value_or(Step(0)), process.beat->step);
  return reached;
}

// Returns the step from which the current world began, or nothing if an older operator version formed it.
std::optional<Step> resumed_step(const api::TrainingJobStatus& status) {
  if (status.ledger.newest_attempt != status.attempt) return std::nullopt;
  return status.ledger.resumed_step;
}

TimeLedgerPart part_of_world(const Observation& seen, const api::TrainingJobStatus& status) {
  // Without the agent a program reports no steps, so the time in which its pods run counts as useful.
  if (!api::reports_steps(seen.job.spec)) return TimeLedgerPart::kUseful;
  const auto reached = newest_reported_step(seen, status.attempt);
  if (!reached) return is_world_unknown(seen) ? status.ledger.part : TimeLedgerPart::kRestarting;
  const auto resumed = resumed_step(status);
  if (resumed && *reached <= *resumed) return TimeLedgerPart::kRestarting;
  return *reached < status.ledger.newest_step ? TimeLedgerPart::kRecomputed : TimeLedgerPart::kUseful;
}

TimeLedgerPart current_part_of(const Observation& seen, const api::TrainingJobStatus& status) {
  if (status.is_world_formed) return part_of_world(seen, status);
  if (seen.job.spec.is_suspended) return TimeLedgerPart::kSuspended;
  if (is_released(status)) return TimeLedgerPart::kWaitingForCapacity;
  return lacks_capacity(seen, status.members) ? TimeLedgerPart::kWaitingForCapacity
                                              : TimeLedgerPart::kRestarting;
}

// Records the newest step that the world reached before it ended, whether saved or not.
void note_newest_step(const Observation& seen, api::TrainingJobStatus& status) {
  const bool stands = status.is_world_formed && status.attempt == seen.job.status.attempt;
  Step& newest = status.ledger.newest_step;
  if (!stands) newest = std::max({newest, seen.job.status.step, status.step});
}

void begin_part(TimeLedgerPart part, WallTime at, api::JobTimeLedger& ledger) {
  if (ledger.since) {
    const Duration passed = std::max(at.since_epoch - ledger.since->since_epoch, Duration(0));
    ledger.seconds[static_cast<std::size_t>(ledger.part)] += seconds(passed);
  }
  ledger.part = part;
  ledger.since = at;
}

}  // namespace

void count_repeated_steps(Step resumed, api::TrainingJobStatus& status) {
  const Step reached = status.step;  // of the world that ended
  api::JobTimeLedger& ledger = status.ledger;
  if (ledger.newest_attempt.value() > 0 && reached > resumed)
    ledger.repeated_step_count += reached.value() - resumed.value();
  ledger.newest_step = std::max(ledger.newest_step, reached);
  ledger.newest_attempt = status.attempt;
  ledger.resumed_step = resumed;
}

void update_time_ledger(const Observation& seen, Timestamp now, Decision& decision) {
  api::JobTimeLedger& ledger = decision.status.ledger;
  const WallTime at = to_milliseconds(seen.wall_now);
  if (api::is_over(decision.status.phase)) {
    if (ledger.since) begin_part(TimeLedgerPart::kRestarting, at, ledger);
    ledger.part = TimeLedgerPart::kRestarting;
    ledger.since.reset();
    return;
  }
  note_newest_step(seen, decision.status);
  const TimeLedgerPart part = current_part_of(seen, decision.status);
  const auto& watch = decision.recovery;
  const auto& open = decision.status.open_recovery;
  const bool is_loss = watch && open && watch->judged_lost_at == now && !seen.job.status.open_recovery;
  if (is_loss && ledger.since && is_training_part(ledger.part)) {
    const WallTime sign = to_milliseconds({seen.wall_now.since_epoch - (now - watch->last_message_at)});
    begin_part(
        open->is_hung ? TimeLedgerPart::kHung : TimeLedgerPart::kRestarting,
        {std::clamp(sign.since_epoch, ledger.since->since_epoch, std::max(at, *ledger.since).since_epoch)},
        ledger);
  }
  if (!ledger.since || ledger.part != part) begin_part(part, at, ledger);
}

void end_useful_time_at_last_step(api::TrainingJobStatus& status) {
  if (!status.ledger.since || !is_training_part(status.ledger.part)) return;
  const WallTime last = to_milliseconds(status.last_step_at.value_or(*status.ledger.since));
  begin_part(TimeLedgerPart::kRestarting, std::max(last, *status.ledger.since), status.ledger);
}

}  // namespace ratoon::core
