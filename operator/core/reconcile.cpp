#include "operator/core/reconcile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "operator/core/backoff.h"
#include "operator/core/begin_anew.h"
#include "operator/core/clean_pods.h"
#include "operator/core/conditions.h"
#include "operator/core/deadlines.h"
#include "operator/core/duration.h"
#include "operator/core/elastic.h"
#include "operator/core/form_world.h"
#include "operator/core/gang.h"
#include "operator/core/hang.h"
#include "operator/core/last_failure.h"
#include "operator/core/notice.h"
#include "operator/core/progress.h"
#include "operator/core/recovery.h"
#include "operator/core/roster.h"
#include "operator/core/silence.h"
#include "operator/core/success_policy.h"
#include "operator/core/suspects.h"
#include "operator/core/suspend.h"
#include "operator/core/time_to_live.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

void append(std::vector<Action>& to, std::vector<Action> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Ends the job: no member is needed any more, and agents that still listen are told to leave. `news` are of
// what this look found before it came to that.
Decision finish(const Observation& seen, api::TrainingJobStatus status, JobPhase phase, std::string message,
                std::vector<Action> news = {}) {
  Decision decision{.actions = std::move(news)};
  const bool is_news = status.phase != phase;
  status.phase = phase;
  if (is_news) status.message = message;
  if (!status.completed_at) status.completed_at = seen.wall_now;
  status.is_formed = false;
  status.world_size = 0;
  status.formed_at.reset();
  status.waiting_since.reset();
  status.suspending_since.reset();
  append(decision.actions, clean_pods(seen, status, message));
  if (is_news) {
    decision.actions.push_back(EmitEvent{
        .is_warning = phase == JobPhase::kFailed, .reason = std::string(name_of(phase)), .message = message});
  }
  decision.announcement = {
      .attempt = status.attempt, .world = {}, .current = {}, .stop = true, .reason = message};
  decision.status = std::move(status);
  return decision;
}

// Losses in a row without a step. Spot machines can be lost several times before the first one; a program
// that cannot start is lost for ever, whatever its exit code says.
void count_in_vain(const Observation& seen, bool has_stepped, RosterChange& change) {
  const std::size_t per_member_max = seen.job.spec.restart_policy.losses_without_step_max;
  const auto& before = seen.job.status.restarts;
  const auto& after = change.restarts;
  const std::uint32_t losses = after.application + after.hung + after.disruption - before.application -
                               before.hung - before.disruption;
  change.restarts.without_step = (has_stepped ? 0 : before.without_step) + losses;
  if (losses == 0 || change.restarts.without_step <= per_member_max * change.members.size()) return;
  if (change.fatal.empty()) {
    change.fatal = std::to_string(change.restarts.without_step) +
                   " losses in a row and not one step: see the members' logs";
  }
}

std::vector<ProcessIdentity> current_members(const Observation& seen,
                                             const std::vector<api::MemberStatus>& members) {
  std::vector<ProcessIdentity> current;
  for (const auto& member : named_incarnations(members)) {
    ProcessIdentity id;
    id.job = api::key_of(seen.job);
    id.role = member.role;
    id.index = member.index;
    id.incarnation = member.incarnation;
    id.member_uid = member.uid;
    current.push_back(std::move(id));
  }
  return current;
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
  note_node_ends(seen, status.members);
  append(decision.actions, name_successors(seen, status.members));
  append(decision.actions, follow_roster(seen, status.members, avoid_nodes));
}

// The newest attempt that a process has been in. A status that was lost, or restored from an older day, must
// not lead back: agents follow only what is newer.
Attempt newest_heard(const Observation& seen) {
  Attempt newest{0};
  for (const auto& process : seen.processes) {
    if (process.beat) newest = std::max(newest, process.beat->attempt);
    if (process.waiting) newest = std::max(newest, process.waiting->left_attempt);
  }
  return newest;
}

// Keeps the world that stands, or takes the number of the next one.
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

// Without a world, nobody grows.
api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status, bool keeps_world,
                           const Growth& growth) {
  api::Announcement announcement{.attempt = status.attempt,
                                 .world = keeps_world ? seen.world : std::vector<api::Seat>{},
                                 .current = current_members(seen, status.members),
                                 .departures = departures_of(status.members)};
  for (const auto& member : status.members) {
    if (!member.is_leaving()) continue;
    ++announcement.save_request;
    announcement.hand_over = announcement.hand_over || is_successor_ready(seen, member);
  }
  if (growth.is_due) {
    ++announcement.save_request;
    announcement.hand_over = true;
  }
  return announcement;
}

// A world that stands saves before it is given up, and is not waited for without end.
std::optional<Decision> drain(const Observation& seen, const RosterChange& change,
                              std::optional<Timestamp> next_check, const std::string& purpose,
                              api::TrainingJobStatus status) {
  const bool stands = status.is_formed && change.keeps_world() && is_intact(seen, status.members);
  if (!stands || seen.wall_now >= end_of_draining(status)) return std::nullopt;
  Decision decision;
  decision.actions = change.actions;
  status.message = "saves at step " + std::to_string(status.step.value()) + " or soon after, " + purpose;
  decision.announcement = announce(seen, status, true, find_growth(seen, status));
  ++decision.announcement.save_request;
  decision.announcement.hand_over = true;
  decision.wake_at = next_check;
  decision.status = std::move(status);
  return decision;
}

// Nobody gets a pod, and nobody keeps one longer than it takes to save.
Decision suspend(const Observation& seen, const RosterChange& change, std::optional<Timestamp> next_check,
                 api::TrainingJobStatus status) {
  if (!status.suspending_since) status.suspending_since = seen.wall_now;
  if (auto draining = drain(seen, change, next_check, "to be suspended", status)) return std::move(*draining);
  Decision decision;
  decision.actions = change.actions;
  note_left(seen.processes, status);
  stop_time(seen.wall_now, status);
  if (status.is_formed) status.attempt = status.attempt.next();
  status.is_formed = false;
  status.world_size = 0;
  status.formed_at.reset();
  status.waiting_since.reset();
  release_members(seen, status.members);
  for (const auto& pod : seen.pods) {
    if (pod.has_ended() || pod.is_deleting) continue;
    decision.actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = "suspended"});
  }
  const bool is_news = std::exchange(status.phase, JobPhase::kSuspended) != JobPhase::kSuspended;
  status.message = "suspended; goes on from step " +
                   std::to_string(status.last_checkpoint ? status.last_checkpoint->step.value() : 0);
  if (is_news)
    decision.actions.push_back(
        EmitEvent{.is_warning = false, .reason = "Suspended", .message = status.message});
  decision.announcement = announce(seen, status, false, {});
  decision.announcement.reason = status.message;
  decision.status = std::move(status);
  return decision;
}

// Its time is over: it saves, and fails.
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
  return finish(seen, std::move(status), JobPhase::kFailed, limit + " is over; " + saved, change.actions);
}

std::optional<Timestamp> earlier(std::optional<Timestamp> a, std::optional<Timestamp> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

void wake_by(std::optional<WallTime> moment, WallTime wall_now, Timestamp now, Decision& decision) {
  if (!moment) return;
  const Timestamp due = now + std::max(Duration(0), moment->since_epoch - wall_now.since_epoch);
  decision.wake_at = std::min(due, decision.wake_at.value_or(due));
}

// Losses that no pod shows by itself. Where somebody hangs, that is why there is no step.
std::vector<Verdict> find_condemned(const Observation& seen, const Hang& hang, bool has_stepped) {
  auto condemned = hang.culprits;
  if (has_stepped) return condemned;
  for (auto& late : find_late(seen)) condemned.push_back(std::move(late));
  if (!hang.culprits.empty() || !hang.of_world.empty()) return condemned;
  for (auto& stalled : find_stalled(seen)) condemned.push_back(std::move(stalled));
  return condemned;
}

RosterChange change_roster(const Observation& seen, const Silence& silence, const Hang& hang,
                           bool has_stepped) {
  RosterChange change = replace_lost(seen, silence.lost, find_condemned(seen, hang, has_stepped));
  if (!hang.of_world.empty() && change.losses.empty()) give_up_world(seen, hang.of_world, change);
  count_in_vain(seen, has_stepped, change);
  put_off_crashed(seen, has_stepped, change);
  return change;
}

// For those who leave their world because of it.
std::string describe(const Observation& seen, const RosterChange& change, const std::string& otherwise) {
  if (!change.gives_up_world.empty()) return change.gives_up_world;
  if (change.losses.empty()) return otherwise;
  return display_name(seen, change.losses.front().member) + " was lost: " + change.losses.front().reason;
}

Decision decide(const Observation& seen, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  note_wish_to_begin_anew(seen.job, status);
  note_progress(seen.processes, status);
  note_final_weights(seen, status);
  const bool has_stepped = status.step > seen.job.status.step;
  if (has_stepped) status.stepped_at = seen.wall_now;

  const Silence silence = find_silent(seen, now);
  const Hang hang = find_hang(seen, now);
  const auto next_check = earlier(silence.next_check, hang.next_check);
  RosterChange change = change_roster(seen, silence, hang, has_stepped);
  status.members = change.members;
  status.restarts = change.restarts;
  note_failure(seen, change, status);
  const auto pauses_end_at = end_pauses(seen, status.members);
  status.suspect_nodes = note_suspects(seen, change);
  if (!change.fatal.empty())
    return finish(seen, std::move(status), JobPhase::kFailed, change.fatal, change.actions);
  if (has_succeeded(seen, status.members)) {
    const std::string place = status.final_weights.empty() ? "" : "; weights: " + status.final_weights;
    const std::string message = "completed at step " + std::to_string(status.step.value()) + place;
    return finish(seen, std::move(status), JobPhase::kSucceeded, message, change.actions);
  }

  const auto wake_for_rest = [&](Decision decision) {
    for (const auto& moment :
         {pauses_end_at, next_end(decision.status.suspect_nodes), stalls_at(seen.job.spec, decision.status)})
      wake_by(moment, seen.wall_now, now, decision);
    if (!decision.status.is_formed) return decision;
    // Who drains is lost as who trains is.
    for (const auto& moment :
         {std::optional(end_of_draining(decision.status)), note_awaited(seen, decision.status)})
      wake_by(moment, seen.wall_now, now, decision);
    return decision;
  };
  if (seen.job.spec.is_suspended) return wake_for_rest(suspend(seen, change, next_check, std::move(status)));
  resume_time(seen.wall_now, status);
  const auto time_ends_at = end_of_time(seen.job.spec, status);
  if (time_ends_at && *time_ends_at <= seen.wall_now)
    return wake_for_rest(end_in_time(seen, change, next_check, std::move(status)));
  status.suspending_since.reset();

  Decision decision;
  decision.status = std::move(status);
  const bool keeps_world = keep_world(seen, change, decision.status);
  follow(seen, change, decision);
  const Growth growth = keeps_world ? find_growth(seen, decision.status) : Growth();
  decision.announcement = announce(seen, decision.status, keeps_world, growth);
  std::optional<WallTime> changes_size_at = growth.due_at;
  if (!keeps_world) {
    const Forming forming = form_world(seen, decision);
    if (!forming.fatal.empty())
      return finish(seen, std::move(decision.status), JobPhase::kFailed, forming.fatal, change.actions);
    changes_size_at = forming.next_at;
  }
  watch_recovery(seen, change, now, decision);
  decision.announcement.is_hung = !keeps_world && decision.recovery && decision.recovery->is_hung;
  decision.announcement.reason = describe(seen, change, decision.status.message);
  // Whose silence counts, and among how many, is another question once the roster or the world is another.
  const bool is_other = decision.status.members != seen.job.status.members ||
                        decision.status.attempt != seen.job.status.attempt;
  decision.wake_at = is_other ? now : next_check;
  const auto late_at = note_awaited(seen, decision.status);
  for (const auto& moment :
       {changes_size_at, pauses_end_at, late_at, time_ends_at, stalls_at(seen.job.spec, decision.status),
        next_end(decision.status.suspect_nodes)})
    wake_by(moment, seen.wall_now, now, decision);
  return decision;
}

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  const auto& stored = seen.job.status;
  if (stored.phase == JobPhase::kSucceeded || stored.phase == JobPhase::kFailed) {
    Decision decision = finish(seen, stored, stored.phase, stored.message);
    end_of_life(seen, now, decision);
    return decision;
  }
  Decision decision = decide(seen, now);
  note_conditions(seen, decision.status);
  if (decision.status.completed_at) end_of_life(seen, now, decision);
  return decision;
}

}  // namespace ratoon::core
