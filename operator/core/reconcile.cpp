#include "operator/core/reconcile.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/contract/resume_point.h"
#include "operator/core/announce.h"
#include "operator/core/attempt.h"
#include "operator/core/backoff.h"
#include "operator/core/begin_anew.h"
#include "operator/core/clean_pods.h"
#include "operator/core/conditions.h"
#include "operator/core/deadlines.h"
#include "operator/core/duration.h"
#include "operator/core/elastic.h"
#include "operator/core/finish.h"
#include "operator/core/form_world.h"
#include "operator/core/group.h"
#include "operator/core/hang.h"
#include "operator/core/last_failure.h"
#include "operator/core/ledger.h"
#include "operator/core/lookup.h"
#include "operator/core/losses.h"
#include "operator/core/notice.h"
#include "operator/core/progress.h"
#include "operator/core/recovery.h"
#include "operator/core/roster.h"
#include "operator/core/shared_claim.h"
#include "operator/core/sick_nodes.h"
#include "operator/core/silence.h"
#include "operator/core/success_policy.h"
#include "operator/core/suspects.h"
#include "operator/core/suspend.h"
#include "operator/core/time_to_live.h"
#include "operator/core/wake.h"

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

// What the roster asks for: pods, and whom to avoid.
void follow(const Observation& seen, const RosterChange& change, Decision& decision) {
  auto& status = decision.status;
  const auto avoid_nodes = nodes_to_avoid(seen, status.suspect_nodes);
  remake_unplaced(seen, avoid_nodes, status.members);
  append(decision.actions, change.actions);
  append(decision.actions, tell_of_damage(seen.job.status.last_checkpoint, status.last_checkpoint));
  note_node_ends(seen, status.members);
  append(decision.actions, name_successors(seen, status.members));
  append(decision.actions, follow_roster(seen, status.members, avoid_nodes, sick_nodes(seen, status)));
}

// Steps that were made before, and lost, are made again; a save is for good wherever the run goes back to.
bool has_advanced(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
  const auto& saved = after.last_checkpoint;
  return after.step > std::max(before.step, before.ledger.newest_step) ||
         (saved && (!before.last_checkpoint || is_newer(*saved, *before.last_checkpoint)));
}

Headway find_headway(const Observation& seen, const api::TrainingJobStatus& status) {
  if (api::is_group(seen.job.spec)) {
    const bool is_proved = has_proved_itself(seen);
    return {.has_stepped = is_proved, .has_advanced = is_proved};
  }
  const auto& before = seen.job.status;
  return {.has_stepped = status.step > before.step, .has_advanced = has_advanced(before, status)};
}

std::string describe_success(const api::TrainingJobSpec& spec, const api::TrainingJobStatus& status) {
  if (api::is_group(spec)) return "completed";  // nobody told of steps
  const std::string place = status.final_weights.empty() ? "" : "; weights: " + status.final_weights;
  return "completed at step " + std::to_string(status.step.value()) + place;
}

Decision rest(const Observation& seen, const RosterChange& change, Timestamp now,
              std::optional<Timestamp> next_check, api::TrainingJobStatus status) {
  Decision decision = suspend(seen, change, next_check, std::move(status));
  // Of another size it may be done already.
  if (decision.status.members.size() != seen.job.status.members.size()) decision.wake_at = now;
  return decision;
}

Decision decide(const Observation& seen, const Silence& silence, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  note_wish_to_begin_anew(seen.job, status);
  note_progress(seen.processes, status);
  note_final_weights(seen, status);
  if (status.step > seen.job.status.step) status.stepped_at = seen.wall_now;
  const Hang hang = find_hang(seen, now);
  const auto next_check = earlier(silence.next_check, hang.next_check);
  RosterChange change = change_roster(seen, silence, hang, find_headway(seen, status), now);
  status.members = change.members;
  status.restarts = change.restarts;
  note_failure(seen, change, status);
  note_failed_nodes(seen, change, status);
  append(change.actions, tell_of_devices(seen, change));
  const auto pauses_end_at = end_pauses(seen, status.members);
  note_rejection(change, status);
  status.suspect_nodes = note_suspects(seen, change);
  if (!change.fatal.empty())
    return finish(seen, std::move(status), JobPhase::kFailed, change.fatal, change.actions);
  if (has_succeeded(seen, status.members)) {
    const std::string message = describe_success(seen.job.spec, status);
    return finish(seen, std::move(status), JobPhase::kSucceeded, message, change.actions);
  }

  const auto wake_for_rest = [&](Decision decision) {
    for (const auto& moment : {pauses_end_at, next_end(decision.status.suspect_nodes),
                               stalls_at(seen, now, decision.status), next_judgement(seen)})
      wake_by(moment, seen.wall_now, now, decision);
    if (!decision.status.is_formed) return decision;
    // Who drains is lost as who trains is.
    for (const auto& moment : {end_of_draining(seen, decision.status),
                               note_awaited(seen, now, decision.status), next_pod_end(seen)})
      wake_by(moment, seen.wall_now, now, decision);
    return decision;
  };
  if (seen.job.spec.is_suspended)
    return wake_for_rest(rest(seen, change, now, next_check, std::move(status)));
  resume_time(seen.wall_now, status);
  const auto time_ends_at = end_of_time(seen.job.spec, status);
  if (time_ends_at && *time_ends_at <= seen.wall_now)
    return wake_for_rest(end_in_time(seen, change, next_check, std::move(status)));
  status.suspending_since.reset();

  Decision decision{.status = std::move(status)};
  const bool keeps_world = keep_world(seen, change, decision.status);
  follow(seen, change, decision);
  const Growth growth = keeps_world ? find_growth(seen, decision.status) : Growth();
  decision.announcement = announce(seen, decision.status, keeps_world, growth);
  std::optional<WallTime> changes_size_at = growth.due_at;
  if (!keeps_world) {
    const Forming forming = form_world(seen, now, decision);
    if (!forming.fatal.empty())
      return finish(seen, std::move(decision.status), JobPhase::kFailed, forming.fatal, change.actions);
    changes_size_at = forming.next_at;
  }
  watch_recovery(seen, change, now, decision);
  decision.announcement.is_hung = !keeps_world && decision.recovery && decision.recovery->is_hung;
  decision.announcement.reason = describe_loss(seen, change, decision.status.message);
  // Whose silence counts, and among how many, is another question once one of these is another.
  const bool is_other = decision.status.members != seen.job.status.members ||
                        decision.status.attempt != seen.job.status.attempt ||
                        decision.status.suspect_nodes != seen.job.status.suspect_nodes;
  decision.wake_at = is_other ? now : next_check;
  for (const auto& moment :
       {changes_size_at, pauses_end_at, note_awaited(seen, now, decision.status), time_ends_at,
        stalls_at(seen, now, decision.status), next_end(decision.status.suspect_nodes), next_pod_end(seen),
        next_judgement(seen), end_of_former(seen, decision.status)})
    wake_by(moment, seen.wall_now, now, decision);
  return decision;
}

// What is still to be done about a job that is over.
void see_off(const Observation& seen, Timestamp now, Decision& decision) {
  end_of_life(seen, now, decision);
  wake_by(next_end_of_rest(seen, decision.status), seen.wall_now, now, decision);
}

Decision reconcile_ordered(const Observation& seen, Timestamp now) {
  const auto& stored = seen.job.status;
  if (api::is_over(stored.phase)) {
    Decision decision = finish(seen, stored, stored.phase, stored.message);
    note_validity(seen, decision.status);
    see_off(seen, now, decision);
    return decision;
  }
  const Silence silence = find_silent(seen, now);
  Decision decision = silence.quiet.empty() ? decide(seen, silence, now)
                                            : decide(without_joins_of(silence.quiet, seen), silence, now);
  forget_rejection_of_none(decision.status);
  hold_back(seen, decision);
  note_ledger(seen, now, decision);
  note_conditions(seen, decision.status);
  if (decision.status.completed_at) see_off(seen, now, decision);
  return decision;
}

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  return reconcile_ordered(with_order(seen), now);
}

}  // namespace ratoon::core
