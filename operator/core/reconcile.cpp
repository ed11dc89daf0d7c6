#include "operator/core/reconcile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
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
#include "operator/core/members/faulty_nodes.h"
#include "operator/core/members/notice.h"
#include "operator/core/members/roster.h"
#include "operator/core/members/shared_volume_claim.h"
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
#include "operator/core/status/waiting_reason.h"
#include "operator/core/wake_time.h"
#include "operator/core/world/agentless_group.h"
#include "operator/core/world/announce.h"
#include "operator/core/world/attempt.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/form_world.h"
#include "operator/core/world/fresh_start.h"
#include "operator/core/world/release_nodes.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

void append(std::vector<Action>& to, std::vector<Action> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::vector<api::SuspectNode> find_suspect_nodes(const Observation& seen, const RosterChange& change) {
  auto losses = change.losses;
  losses.insert(losses.end(), change.outside_losses.begin(), change.outside_losses.end());
  return update_suspects(seen, losses);
}

// Adds the actions that the new list of members needs: creates missing pods (not on nodes to avoid), and
// deletes pods that belong to no member of the list.
void apply_roster_change(const Observation& seen, const RosterChange& change, Decision& decision) {
  auto& status = decision.status;
  const auto avoid_nodes = nodes_to_avoid(seen, status.suspect_nodes);
  recreate_unplaced(seen, avoid_nodes, status.members);
  append(decision.actions, change.actions);
  append(decision.actions,
         report_damaged_checkpoint(seen.job.status.last_checkpoint, status.last_checkpoint));
  record_node_end_times(seen, status.members);
  append(decision.actions, assign_successors(seen, status.members));
  append(decision.actions, reconcile_pods(seen, status.members, avoid_nodes, faulty_nodes(seen, status)));
}

// Returns whether there is progress: a step that was never made before, or a newer checkpoint.
bool has_advanced(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
  const auto& saved = after.last_checkpoint;
  return after.step > std::max(before.step, before.ledger.newest_step) ||
         (saved && (!before.last_checkpoint || is_newer(*saved, *before.last_checkpoint)));
}

ProgressMade find_progress_made(const Observation& seen, const api::TrainingJobStatus& status) {
  if (!api::reports_steps(seen.job.spec)) {
    const bool is_proved = has_group_run_stably(seen);
    return {.has_stepped = is_proved, .has_advanced = is_proved};
  }
  const auto& before = seen.job.status;
  return {.has_stepped = status.step > before.step, .has_advanced = has_advanced(before, status)};
}

std::string describe_success(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& status) {
  if (!api::reports_steps(spec)) return "completed";  // such a program reports no steps
  const std::string why = status.finish_reason.empty() ? "" : ": " + status.finish_reason;
  const std::string place = status.final_weights.empty() ? "" : "; weights: " + status.final_weights;
  return "completed at step " + std::to_string(status.step.value()) + why + place;
}

Decision decide_suspended(const Observation& seen, const RosterChange& change, Timestamp now,
                          std::optional<Timestamp> next_check, api::TrainingJobStatus status) {
  Decision decision = suspend(seen, change, next_check, std::move(status));
  // If the user changed the job's size, all remaining members may be complete already: decide again at once.
  if (decision.status.members.size() != seen.job.status.members.size()) decision.wake_at = now;
  return decision;
}

void record_process_reports(const Observation& seen, api::TrainingJobStatus& status) {
  note_progress(seen.processes, status);
  record_steps_of_left_world(seen, status);
  record_completed_step(seen, status);
  record_run_results(seen, status);
  if (status.step > seen.job.status.step) status.last_step_at = seen.wall_now;
}

// Sets when to decide again about a job whose members are leaving or have left.
Decision wake_while_members_leave(const Observation& seen, Timestamp now,
                                  const std::optional<WallTime>& pauses_end_at, Decision decision) {
  for (const auto& moment : {pauses_end_at, next_suspicion_end(decision.status.suspect_nodes),
                             stall_deadline(seen, now, decision.status), next_classification_time(seen)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  if (!decision.status.is_world_formed) return decision;
  // While the world saves before a suspension, a member may be lost, so also decide at the following times.
  for (const auto& moment : {drain_deadline(seen, decision.status),
                             record_first_message_waits(seen, now, decision.status), next_pod_end_time(seen)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  return decision;
}

// Times at which a decision is due although nothing changes.
struct DueTimes {
  std::optional<Timestamp> next_check;    // a member may count as lost
  std::optional<WallTime> pauses_end_at;  // the pause of a member that failed ends
  std::optional<WallTime> time_ends_at;   // the job's time limit is reached
};

// Returns the decision for a job that has freed its nodes. The recovery from the last loss continues, so the
// time of the recovery contains the wait for nodes.
Decision decide_while_nodes_released(const Observation& seen, const RosterChange& change, Timestamp now,
                                     const DueTimes& due, std::vector<Action> news,
                                     api::TrainingJobStatus status) {
  Decision decision = make_released_decision(seen, std::move(news), std::move(status));
  measure_recovery(seen, change, now, decision);
  decision = wake_while_members_leave(seen, now, due.pauses_end_at, std::move(decision));
  for (const auto& moment : {release_pause_end(seen, decision.status), due.time_ends_at})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  return decision;
}

// Returns only the events among the actions. A release of nodes drops all other actions of a decision.
std::vector<Action> events_of(std::vector<Action> actions) {
  std::erase_if(actions, [](const Action& action) { return !std::holds_alternative<EmitEvent>(action); });
  return actions;
}

// Keeps the world or forms the next one. Call it only for a job that is neither over nor suspended.
Decision keep_or_form_world(const Observation& seen, RosterChange& change, Timestamp now, const DueTimes& due,
                            api::TrainingJobStatus status) {
  append(change.actions, end_release(seen, status));
  if (is_released(status))
    return decide_while_nodes_released(seen, change, now, due, change.actions, std::move(status));
  Decision decision{.status = std::move(status)};
  const bool keeps_world = keep_world(seen, change, decision.status);
  apply_roster_change(seen, change, decision);
  const GrowthPlan growth = keeps_world ? find_growth(seen, decision.status) : GrowthPlan();
  decision.announcement = announce(seen, decision.status, keeps_world, growth);
  std::optional<WallTime> changes_size_at = growth.due_at;
  if (!keeps_world) {
    const FormWorldResult forming = form_world(seen, now, decision);
    if (!forming.fatal_reason.empty())
      return finish(seen, std::move(decision.status), JobPhase::kFailed, forming.fatal_reason,
                    change.actions);
    changes_size_at = forming.next_wait_ends_at;
  }
  const auto release_due = update_capacity_wait(seen, decision.status, decision.actions);
  if (is_released(decision.status))
    return decide_while_nodes_released(seen, change, now, due, events_of(std::move(decision.actions)),
                                       std::move(decision.status));
  // Store the save location in the same write as the world, so that a job's start needs no further write.
  if (decision.status.is_world_formed) record_save_location(seen.processes, decision.status);
  measure_recovery(seen, change, now, decision);
  decision.announcement.is_hung =
      !keeps_world && decision.status.open_recovery && decision.status.open_recovery->is_hung;
  decision.announcement.reason = describe_loss(seen, change, decision.status.message);
  // After a change of members, decide again at once, because the rules about silence depend on the members.
  const bool is_other = decision.status.members != seen.job.status.members ||
                        decision.status.attempt != seen.job.status.attempt ||
                        decision.status.suspect_nodes != seen.job.status.suspect_nodes;
  decision.wake_at = is_other ? now : due.next_check;
  for (const auto& moment :
       {changes_size_at, due.pauses_end_at, record_first_message_waits(seen, now, decision.status),
        due.time_ends_at, release_due, stall_deadline(seen, now, decision.status),
        next_suspicion_end(decision.status.suspect_nodes), next_pod_end_time(seen),
        next_notice_time_of_nodes(seen), next_classification_time(seen),
        previous_group_deadline(seen, decision.status), next_scheduler_silence_report(seen, decision.status)})
    wake_no_later_than(moment, seen.wall_now, now, decision);
  return decision;
}

Decision decide(const Observation& seen, const SilentMembers& silence, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  record_fresh_start_request(seen.job, status);
  record_process_reports(seen, status);
  if (!seen.operator_image.empty()) status.operator_image = seen.operator_image;
  const Hang hang = find_hang(seen, now);
  const UnreachableMembers unreachable = find_unreachable(seen, now);
  const auto next_check = earlier(earlier(silence.next_check, hang.next_check), unreachable.next_check);
  RosterChange change =
      change_roster(seen, silence, hang, unreachable, find_progress_made(seen, status), now);
  status.members = change.members;
  status.restarts = change.restarts;
  record_first_failure(seen, change, status);
  record_failed_nodes(seen, change, status);
  append(change.actions, report_unusable_devices(seen, change));
  const auto pauses_end_at = end_pauses(seen, status.members);
  record_kubelet_rejection(change, status);
  status.suspect_nodes = find_suspect_nodes(seen, change);
  if (!change.fatal_reason.empty())
    return finish(seen, std::move(status), JobPhase::kFailed, change.fatal_reason, change.actions);
  if (has_succeeded(seen, status.members)) {
    const std::string message = describe_success(seen.job.spec, status);
    return finish(seen, std::move(status), JobPhase::kSucceeded, message, change.actions);
  }

  if (seen.job.spec.is_suspended)
    return wake_while_members_leave(seen, now, pauses_end_at,
                                    decide_suspended(seen, change, now, next_check, std::move(status)));
  start_active_time(seen.wall_now, status);
  const auto time_ends_at = time_limit_end(seen.job.spec, status);
  if (time_ends_at && *time_ends_at <= seen.wall_now)
    return wake_while_members_leave(seen, now, pauses_end_at,
                                    end_at_time_limit(seen, change, next_check, std::move(status)));
  status.suspending_since.reset();
  const DueTimes due{.next_check = next_check, .pauses_end_at = pauses_end_at, .time_ends_at = time_ends_at};
  return keep_or_form_world(seen, change, now, due, std::move(status));
}

// Handles a job that is over: deletes it after its time to live, and deletes pods whose sidecar containers
// still run.
void handle_finished_job(const Observation& seen, Timestamp now, Decision& decision) {
  expire_job(seen, now, decision);
  wake_no_later_than(next_sidecar_deadline(seen, decision.status), seen.wall_now, now, decision);
}

Decision reconcile_sorted(const Observation& seen, Timestamp now) {
  const auto& stored = seen.job.status;
  if (api::is_over(stored.phase)) {
    Decision decision = finish(seen, stored, stored.phase, stored.message);
    set_invalid_spec_condition(seen, decision.status);
    handle_finished_job(seen, now, decision);
    return decision;
  }
  const SilentMembers silence = find_silent_members(seen, now);
  Decision decision = silence.quiet_processes.empty()
                          ? decide(seen, silence, now)
                          : decide(without_join_requests_of(silence.quiet_processes, seen), silence, now);
  if (!decision.recovery) decision.status.open_recovery.reset();
  forget_rejection_if_none_waits(decision.status);
  withhold_pod_creation(seen, decision);
  update_time_ledger(seen, now, decision);
  update_conditions(seen, decision.status);
  if (decision.status.completed_at) handle_finished_job(seen, now, decision);
  return decision;
}

// If the wall clock went back, or the last leader's clock was ahead, times in the status lie in the future.
// All waits that count from such a time would take longer by hours.
void limit_times_to_now(Observation& seen) {
  auto& status = seen.job.status;
  const WallTime now = seen.wall_now;
  const auto limit = [&](std::optional<WallTime>& time) {
    if (time) time = std::min(*time, now);
  };
  for (auto* time :
       {&status.world_awaited_since, &status.world_formed_at, &status.last_step_at, &status.suspending_since})
    limit(*time);
  for (auto& member : status.members) limit(member.first_message_awaited_since);
  if (status.capacity_wait) limit(status.capacity_wait->since);
  const Duration pause = std::chrono::seconds(seen.job.spec.disruption_policy.avoid_node_seconds);
  for (auto& suspect : status.suspect_nodes)
    suspect.until = std::min(suspect.until, WallTime{now.since_epoch + pause});
}

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  Observation own = with_index(seen);
  limit_times_to_now(own);
  keep_agent_until_suspended(own);
  if (const auto processes = processes_per_member_until_suspended(own))
    own.job.spec.processes_per_node = *processes;
  return reconcile_sorted(own, now);
}

}  // namespace ratoon::core
