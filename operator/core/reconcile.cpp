#include "operator/core/reconcile.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/contract/resume_point.h"
#include "operator/core/loss/deadlines.h"
#include "operator/core/loss/hang.h"
#include "operator/core/loss/last_failure.h"
#include "operator/core/loss/losses.h"
#include "operator/core/loss/silence.h"
#include "operator/core/loss/unreachable.h"
#include "operator/core/members/completion.h"
#include "operator/core/members/notice.h"
#include "operator/core/members/roster.h"
#include "operator/core/members/shared_volume_claim.h"
#include "operator/core/members/sick_nodes.h"
#include "operator/core/members/suspect_nodes.h"
#include "operator/core/observation_index.h"
#include "operator/core/policy/backoff.h"
#include "operator/core/policy/clean_pods.h"
#include "operator/core/policy/finish.h"
#include "operator/core/policy/success_policy.h"
#include "operator/core/policy/suspend.h"
#include "operator/core/policy/time_limit.h"
#include "operator/core/policy/time_to_live.h"
#include "operator/core/status/conditions.h"
#include "operator/core/status/ledger.h"
#include "operator/core/status/progress.h"
#include "operator/core/status/recovery.h"
#include "operator/core/status/why_waiting.h"
#include "operator/core/wake_time.h"
#include "operator/core/world/agentless_group.h"
#include "operator/core/world/announce.h"
#include "operator/core/world/attempt.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/form_world.h"
#include "operator/core/world/fresh_start.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

void append(std::vector<Action>& to, std::vector<Action> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::vector<api::SuspectNode> note_suspects(const Observation& seen, const RosterChange& change) {
  auto losses = change.losses;
  losses.insert(losses.end(), change.outside_losses.begin(), change.outside_losses.end());
  return update_suspects(seen, losses);
}

// Adds the actions that the new list of members needs: creates pods (not on nodes to avoid), deletes others.
void follow(const Observation& seen, const RosterChange& change, Decision& decision) {
  auto& status = decision.status;
  const auto avoid_nodes = nodes_to_avoid(seen, status.suspect_nodes);
  recreate_unplaced(seen, avoid_nodes, status.members);
  append(decision.actions, change.actions);
  append(decision.actions,
         report_damaged_checkpoint(seen.job.status.last_checkpoint, status.last_checkpoint));
  note_node_ends(seen, status.members);
  append(decision.actions, name_successors(seen, status.members));
  append(decision.actions, reconcile_pods(seen, status.members, avoid_nodes, sick_nodes(seen, status)));
}

// Returns whether there is progress: a step that was never made before, or a newer checkpoint.
bool has_advanced(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
  const auto& saved = after.last_checkpoint;
  return after.step > std::max(before.step, before.ledger.newest_step) ||
         (saved && (!before.last_checkpoint || is_newer(*saved, *before.last_checkpoint)));
}

ProgressMade find_progress_made(const Observation& seen, const api::TrainingJobStatus& status) {
  if (api::is_group(seen.job.spec)) {
    const bool is_proved = has_run_long_enough(seen);
    return {.has_stepped = is_proved, .has_advanced = is_proved};
  }
  const auto& before = seen.job.status;
  return {.has_stepped = status.step > before.step, .has_advanced = has_advanced(before, status)};
}

std::string describe_success(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& status) {
  if (api::is_group(spec)) return "completed";  // such a program reports no steps
  const std::string why = status.finish_reason.empty() ? "" : ": " + status.finish_reason;
  const std::string place = status.final_weights.empty() ? "" : "; weights: " + status.final_weights;
  return "completed at step " + std::to_string(status.step.value()) + why + place;
}

Decision rest(const Observation& seen, const RosterChange& change, Timestamp now,
              std::optional<Timestamp> next_check, api::TrainingJobStatus status) {
  Decision decision = suspend(seen, change, next_check, std::move(status));
  // If the user changed the job's size, the remaining members may all be complete: decide again at once.
  if (decision.status.members.size() != seen.job.status.members.size()) decision.wake_at = now;
  return decision;
}

void note_reports(const Observation& seen, api::TrainingJobStatus& status) {
  note_progress(seen.processes, status);
  note_left_steps(seen, status);
  note_completed_step(seen, status);
  note_results(seen, status);
  if (status.step > seen.job.status.step) status.stepped_at = seen.wall_now;
}

// Sets when to decide again about a job whose members are leaving or have left.
Decision wake_while_leaving(const Observation& seen, Timestamp now,
                            const std::optional<WallTime>& pauses_end_at, Decision decision) {
  for (const auto& moment : {pauses_end_at, next_end(decision.status.suspect_nodes),
                             stalls_at(seen, now, decision.status), next_judgement_time(seen)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  if (!decision.status.is_formed) return decision;
  // A member that saves before a suspension can be lost like a member that trains.
  for (const auto& moment :
       {drain_deadline(seen, decision.status), note_awaited(seen, now, decision.status), next_pod_end(seen)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  return decision;
}

Decision decide(const Observation& seen, const SilentMembers& silence, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  note_fresh_start_request(seen.job, status);
  note_reports(seen, status);
  const Hang hang = find_hang(seen, now);
  const Unreachable unreachable = find_unreachable(seen, now);
  const auto next_check = earlier(earlier(silence.next_check, hang.next_check), unreachable.next_check);
  RosterChange change =
      change_roster(seen, silence, hang, unreachable, find_progress_made(seen, status), now);
  status.members = change.members;
  status.restarts = change.restarts;
  note_failure(seen, change, status);
  note_failed_nodes(seen, change, status);
  append(change.actions, report_unusable_devices(seen, change));
  const auto pauses_end_at = end_pauses(seen, status.members);
  note_rejection(change, status);
  status.suspect_nodes = note_suspects(seen, change);
  if (!change.fatal.empty())
    return finish(seen, std::move(status), JobPhase::kFailed, change.fatal, change.actions);
  if (has_succeeded(seen, status.members)) {
    const std::string message = describe_success(seen.job.spec, status);
    return finish(seen, std::move(status), JobPhase::kSucceeded, message, change.actions);
  }

  if (seen.job.spec.is_suspended)
    return wake_while_leaving(seen, now, pauses_end_at,
                              rest(seen, change, now, next_check, std::move(status)));
  start_active_time(seen.wall_now, status);
  const auto time_ends_at = time_limit_end(seen.job.spec, status);
  if (time_ends_at && *time_ends_at <= seen.wall_now)
    return wake_while_leaving(seen, now, pauses_end_at,
                              end_at_time_limit(seen, change, next_check, std::move(status)));
  status.suspending_since.reset();

  Decision decision{.status = std::move(status)};
  const bool keeps_world = keep_world(seen, change, decision.status);
  follow(seen, change, decision);
  const GrowthPlan growth = keeps_world ? find_growth(seen, decision.status) : GrowthPlan();
  decision.announcement = announce(seen, decision.status, keeps_world, growth);
  std::optional<WallTime> changes_size_at = growth.due_at;
  if (!keeps_world) {
    const FormWorldResult forming = form_world(seen, now, decision);
    if (!forming.fatal.empty())
      return finish(seen, std::move(decision.status), JobPhase::kFailed, forming.fatal, change.actions);
    changes_size_at = forming.next_at;
  }
  watch_recovery(seen, change, now, decision);
  decision.announcement.is_hung =
      !keeps_world && decision.status.open_recovery && decision.status.open_recovery->is_hung;
  decision.announcement.reason = describe_loss(seen, change, decision.status.message);
  // The rules about silence depend on the members, so after a change of members decide again.
  const bool is_other = decision.status.members != seen.job.status.members ||
                        decision.status.attempt != seen.job.status.attempt ||
                        decision.status.suspect_nodes != seen.job.status.suspect_nodes;
  decision.wake_at = is_other ? now : next_check;
  for (const auto& moment :
       {changes_size_at, pauses_end_at, note_awaited(seen, now, decision.status), time_ends_at,
        stalls_at(seen, now, decision.status), next_end(decision.status.suspect_nodes), next_pod_end(seen),
        next_notice_of_nodes(seen), next_judgement_time(seen), previous_group_deadline(seen, decision.status),
        next_silence_to_report(seen, decision.status)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  return decision;
}

// Handles a job that is over: its deletion after its time to live, and pods whose sidecar containers still
// run.
void release_leaving_members(const Observation& seen, Timestamp now, Decision& decision) {
  expire_job(seen, now, decision);
  wake_no_later_than(next_sidecar_deadline(seen, decision.status), seen.wall_now, now, decision);
}

Decision reconcile_ordered(const Observation& seen, Timestamp now) {
  const auto& stored = seen.job.status;
  if (api::is_over(stored.phase)) {
    Decision decision = finish(seen, stored, stored.phase, stored.message);
    note_validity(seen, decision.status);
    release_leaving_members(seen, now, decision);
    return decision;
  }
  const SilentMembers silence = find_silent(seen, now);
  Decision decision = silence.quiet.empty() ? decide(seen, silence, now)
                                            : decide(without_joins_of(silence.quiet, seen), silence, now);
  if (!decision.recovery) decision.status.open_recovery.reset();
  forget_rejection_if_none_waits(decision.status);
  withhold_pods(seen, decision);
  note_ledger(seen, now, decision);
  note_conditions(seen, decision.status);
  if (decision.status.completed_at) release_leaving_members(seen, now, decision);
  return decision;
}

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  return reconcile_ordered(with_index(seen), now);
}

}  // namespace ratoon::core
