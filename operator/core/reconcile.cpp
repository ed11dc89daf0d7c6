#include "operator/core/reconcile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "operator/core/gang.h"
#include "operator/core/notice.h"
#include "operator/core/progress.h"
#include "operator/core/recovery.h"
#include "operator/core/resume_point.h"
#include "operator/core/roster.h"
#include "operator/core/silence.h"
#include "operator/core/suspects.h"

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
    const bool ends_by_itself = phase == JobPhase::kSucceeded && is_named(pod, status.members);
    if (pod.has_ended() || pod.is_deleting || ends_by_itself) continue;
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

// What those saw committed that were in the job until now: some completed, some gave their place to a
// successor that began to wait before they saved.
std::vector<InventoryEntry> committed_until_now(const Observation& seen) {
  std::vector<InventoryEntry> committed;
  const auto named = named_incarnations(seen.job.status.members);
  for (const auto& process : seen.processes) {
    const auto& id = process.identity;
    const bool was_in_job = std::any_of(named.begin(), named.end(), [&](const auto& member) {
      const bool is_older =
          id.role == member.role && id.index == member.index && id.incarnation < member.incarnation;
      return is_older || is_of(id, member);
    });
    if (!was_in_job) continue;
    if (process.beat && process.beat->committed) committed.push_back(*process.beat->committed);
    if (!process.waiting) continue;
    committed.insert(committed.end(), process.waiting->inventory.begin(), process.waiting->inventory.end());
  }
  return committed;
}

// What was reported durable is looked for before anything starts: a run must not begin anew because a volume
// is missing.
std::string find_missing_checkpoint(const std::optional<ResumePoint>& last,
                                    const std::optional<ResumePoint>& resume) {
  if (!last || resume) return "";
  return "the checkpoint of step " + std::to_string(last->step.value()) +
         " was durable and cannot be found by any member: bring back the checkpoints, or start over in "
         "another folder "
         "or under another run name";
}

// An older point than the last durable one: its damage costs steps, and people must know.
void warn_of_older_point(const std::optional<ResumePoint>& resume, Decision& decision) {
  auto& last = decision.status.last_checkpoint;
  if (last && resume && std::pair(resume->attempt, resume->step) < std::pair(last->attempt, last->step)) {
    decision.actions.push_back(EmitEvent{
        .is_warning = true,
        .reason = "CheckpointUnreadable",
        .message = "the checkpoint of step " + std::to_string(last->step.value()) +
                   " cannot be read; the run goes back to step " + std::to_string(resume->step.value())});
  }
  last = resume;
}

// The scheduler's words about the first pod that no node takes.
std::string why_not_placed(const Observation& seen) {
  constexpr std::size_t kBytesMax = 300;
  for (const auto& pod : seen.pods) {
    if (pod.unplaced_reason.empty() || pod.is_deleting || pod.has_ended()) continue;
    return "; no node takes " + pod.name + ": " + pod.unplaced_reason.substr(0, kBytesMax);
  }
  return "";
}

// Forms the next world if everybody is there. Returns why the job cannot go on, or nothing.
std::string form_world(const Observation& seen, const Gang& gang, Decision& decision) {
  auto& status = decision.status;
  status.phase = status.attempt.value() <= 1 ? JobPhase::kPending : JobPhase::kRecovering;
  status.message = std::to_string(gang.joiners.size()) + " of " + std::to_string(gang.needed) +
                   " processes are ready for attempt " + std::to_string(status.attempt.value()) +
                   why_not_placed(seen);
  if (!gang.is_complete()) return "";

  // A status that was lost must not lead back to attempts whose checkpoints exist already.
  for (const auto& joiner : gang.joiners) {
    for (const auto& entry : joiner.inventory) {
      if (entry.attempt >= status.attempt) status.attempt = entry.attempt.next();
    }
    if (joiner.left_attempt >= status.attempt) status.attempt = joiner.left_attempt.next();
  }
  decision.announcement.attempt = status.attempt;
  const auto resume = pick_resume_point(gang.joiners, committed_until_now(seen));
  if (auto missing = find_missing_checkpoint(status.last_checkpoint, resume); !missing.empty())
    return missing;
  warn_of_older_point(resume, decision);
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
  return "";
}

// Losses in a row without a step. Spot machines can be lost several times before the first one; a program
// that cannot start is lost for ever, whatever its exit code says.
void count_in_vain(const Observation& seen, bool has_stepped, RosterChange& change) {
  constexpr std::size_t kPerMemberMax = 10;
  const auto& before = seen.job.status.restarts;
  const std::uint32_t losses =
      change.restarts.application + change.restarts.disruption - before.application - before.disruption;
  change.restarts.without_step = (has_stepped ? 0 : before.without_step) + losses;
  if (losses == 0 || change.restarts.without_step <= kPerMemberMax * change.members.size()) return;
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

// What the roster asks for: pods, and whom to avoid.
void follow(const Observation& seen, RosterChange& change, Decision& decision) {
  auto& status = decision.status;
  auto losses = change.losses;
  losses.insert(losses.end(), change.lost_successors.begin(), change.lost_successors.end());
  status.suspect_nodes = update_suspects(seen, losses);
  const auto avoid_nodes = nodes_to_avoid(seen, status.suspect_nodes);
  remake_unplaced(seen, avoid_nodes, status.members);
  append(decision.actions, std::move(change.actions));
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
  if (status.is_formed && change.losses.empty() && is_intact(seen, status.members)) return true;
  promote_ready(seen, status.members);
  const Attempt heard = newest_heard(seen);
  if (status.is_formed || status.attempt.value() == 0 || heard >= status.attempt) {
    status.attempt = std::max(status.attempt, heard).next();
    status.is_formed = false;
    status.world_size = 0;
  }
  return false;
}

api::Announcement announce(const Observation& seen, const api::TrainingJobStatus& status, bool keeps_world) {
  api::Announcement announcement{.attempt = status.attempt,
                                 .world = keeps_world ? seen.world : std::vector<api::Seat>{},
                                 .current = current_members(seen, status.members)};
  for (const auto& member : status.members) {
    if (!member.is_leaving()) continue;
    ++announcement.save_request;
    announcement.hand_over = announcement.hand_over || is_successor_ready(seen, member);
  }
  return announcement;
}

// For those who leave their world because of it.
std::string describe(const Observation& seen, const Loss& loss) {
  return display_name(seen, loss.member) + " was lost: " + loss.reason;
}

}  // namespace

Decision reconcile(const Observation& seen, Timestamp now) {
  api::TrainingJobStatus status = seen.job.status;
  if (status.phase == JobPhase::kSucceeded || status.phase == JobPhase::kFailed) {
    return finish(seen, status, status.phase, status.message);
  }
  note_progress(seen.processes, status);
  const bool has_stepped = status.step > seen.job.status.step;

  const Silence silence = find_silent(seen, now);
  RosterChange change = replace_lost(seen, silence.lost);
  count_in_vain(seen, has_stepped, change);
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
  const bool keeps_world = keep_world(seen, change, decision.status);
  follow(seen, change, decision);
  decision.announcement = announce(seen, decision.status, keeps_world);
  if (!keeps_world) {
    const std::string fatal = form_world(seen, gather(seen, decision.status.members), decision);
    if (!fatal.empty()) return finish(seen, std::move(decision.status), JobPhase::kFailed, fatal);
  }
  watch_recovery(seen, change.losses, now, decision);
  decision.announcement.reason =
      change.losses.empty() ? decision.status.message : describe(seen, change.losses.front());
  // Whose silence counts, and among how many, is another question once the roster or the world is another.
  const bool is_other = decision.status.members != seen.job.status.members ||
                        decision.status.attempt != seen.job.status.attempt;
  decision.wake_at = is_other ? now : silence.next_check;
  return decision;
}

}  // namespace ratoon::core
