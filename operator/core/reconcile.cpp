#include "operator/core/reconcile.h"

#include <algorithm>

#include "operator/core/gang.h"
#include "operator/core/progress.h"
#include "operator/core/resume_point.h"
#include "operator/core/roster.h"
#include "operator/core/silence.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

void append(std::vector<Action>& to, std::vector<Action> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Ends the job: no member is needed any more, and agents that still listen are told to leave.
Decision finish(const Observation& seen, api::TrainingJobStatus status, JobPhase phase, std::string message) {
  Decision decision;
  const bool is_news = status.phase != phase;
  status.phase = phase;
  if (is_news) status.message = message;
  status.is_formed = false;
  status.world_size = 0;
  for (const auto& pod : seen.pods) {
    // Members that completed end by themselves; those that were replaced do not.
    const bool is_current =
        std::any_of(status.members.begin(), status.members.end(), [&](const auto& member) {
          return pod.role == member.role && pod.index == member.index &&
                 pod.incarnation == member.incarnation;
        });
    if (pod.has_ended() || pod.is_deleting || (phase == JobPhase::kSucceeded && is_current)) continue;
    decision.actions.push_back(DeletePod{.name = pod.name, .uid = pod.uid, .reason = message});
  }
  if (is_news) {
    decision.actions.push_back(EmitEvent{
        .is_warning = phase == JobPhase::kFailed, .reason = std::string(name_of(phase)), .message = message});
  }
  decision.announcement = {
      .attempt = status.attempt, .world = {}, .current = {}, .stop = true, .reason = message};
  decision.status = std::move(status);
  return decision;
}

// The newest checkpoint of each process that completed.
std::vector<InventoryEntry> committed_by_completed(const Observation& seen,
                                                   const std::vector<api::MemberStatus>& members) {
  std::vector<InventoryEntry> committed;
  for (const auto& process : seen.processes) {
    const bool is_current = std::any_of(members.begin(), members.end(),
                                        [&](const auto& member) { return is_of(process.identity, member); });
    if (is_current && process.is_completed && process.beat && process.beat->committed)
      committed.push_back(*process.beat->committed);
  }
  return committed;
}

// Forms the next world if everybody is there.
void form_world(const Observation& seen, const Gang& gang, Decision& decision) {
  auto& status = decision.status;
  status.phase = status.attempt.value() <= 1 ? JobPhase::kPending : JobPhase::kRecovering;
  status.message = std::to_string(gang.joiners.size()) + " of " + std::to_string(gang.needed) +
                   " processes are ready for attempt " + std::to_string(status.attempt.value());
  if (!gang.is_complete()) return;

  // A status that was lost must not lead back to attempts whose checkpoints exist already.
  for (const auto& joiner : gang.joiners) {
    for (const auto& entry : joiner.inventory) {
      if (entry.attempt >= status.attempt) status.attempt = entry.attempt.next();
    }
    if (joiner.left_attempt >= status.attempt) status.attempt = joiner.left_attempt.next();
  }
  decision.announcement.attempt = status.attempt;
  const auto resume = pick_resume_point(gang.joiners, committed_by_completed(seen, status.members));
  decision.announcement.world = assign_seats(
      gang, status.attempt, static_cast<double>(seen.job.spec.disruption_policy.heartbeat_seconds), resume);
  status.phase = JobPhase::kRunning;
  status.is_formed = true;
  status.world_size = static_cast<std::uint32_t>(gang.needed);
  // Steps after the resume point are in no weights any more.
  status.step = resume ? resume->step : Step(0);
  status.message = "attempt " + std::to_string(status.attempt.value()) + " trains with " +
                   std::to_string(gang.needed) + " processes from step " +
                   std::to_string(status.step.value());
  decision.actions.push_back(
      EmitEvent{.is_warning = false, .reason = "WorldFormed", .message = status.message});
}

std::vector<ProcessIdentity> current_members(const Observation& seen,
                                             const std::vector<api::MemberStatus>& members) {
  std::vector<ProcessIdentity> current;
  for (const auto& member : members) {
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

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  if (status.phase == JobPhase::kSucceeded || status.phase == JobPhase::kFailed) {
    return finish(seen, status, status.phase, status.message);
  }
  note_progress(seen.processes, status);

  const Silence silence = find_silent(seen, now);
  RosterChange change = replace_lost(seen, silence.lost);
  status.members = change.members;
  status.restarts = change.restarts;
  if (!change.fatal.empty()) {
    Decision decision = finish(seen, std::move(status), JobPhase::kFailed, change.fatal);
    decision.actions.insert(decision.actions.begin(), change.actions.begin(), change.actions.end());
    return decision;
  }
  const bool is_done = std::all_of(status.members.begin(), status.members.end(),
                                   [&](const auto& member) { return is_completed(seen, member); });
  if (is_done) {
    return finish(seen, std::move(status), JobPhase::kSucceeded,
                  "completed at step " + std::to_string(status.step.value()));
  }

  Decision decision;
  decision.status = std::move(status);
  decision.actions = std::move(change.actions);
  append(decision.actions, follow_roster(seen, decision.status.members));

  auto& next = decision.status;
  const bool keeps_world = next.is_formed && is_intact(seen, next.members);
  if (!keeps_world && (next.is_formed || next.attempt.value() == 0)) {
    next.attempt = next.attempt.next();
    next.is_formed = false;
    next.world_size = 0;
  }
  decision.announcement = {.attempt = next.attempt,
                           .world = keeps_world ? seen.world : std::vector<api::Seat>{},
                           .current = current_members(seen, next.members),
                           .stop = false,
                           .reason = ""};
  if (!keeps_world) form_world(seen, gather(seen, next.members), decision);
  decision.announcement.reason = next.message;
  decision.wake_at = silence.next_check;
  return decision;
}

}  // namespace ratoon::core
