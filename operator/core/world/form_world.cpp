#include "operator/core/world/form_world.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "base/contract/resume_point.h"
#include "base/core/count_with_noun.h"
#include "operator/core/members/completion.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation_index.h"
#include "operator/core/status/ledger.h"
#include "operator/core/status/progress.h"
#include "operator/core/status/waiting_reason.h"
#include "operator/core/world/announce.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/form_agentless_group.h"
#include "operator/core/world/fresh_start.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

using Processes = std::vector<const api::ProcessFacts*>;

// Returns the processes whose commits and lists of checkpoints count. These are the processes of current and
// completed members, and of older incarnations, which may have saved after their successor listed its
// checkpoints. The function uses `members` in addition to the stored members, because a stored member may
// lack the UID of a pod that was observed only now.
Processes find_relevant_processes(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  auto named = incarnations_with_successors(seen.job.status.members);
  std::ranges::copy(incarnations_with_successors(members), std::back_inserter(named));
  Processes found;
  for (const auto& process : seen.processes) {
    const auto& id = process.identity;
    const bool was_in_job = std::any_of(named.begin(), named.end(), [&](const auto& member) {
      const bool is_older =
          id.index == member.index && id.role == member.role && id.incarnation < member.incarnation;
      return is_older || is_process_of(id, member);
    });
    if (was_in_job) found.push_back(&process);
  }
  return found;
}

// Returns whether a process's list shows that the checkpoint no longer exists: the process was in a world
// that is newer than the checkpoint, but its list lacks the checkpoint.
bool lacks_checkpoint(const JoinRequest& joiner, const InventoryEntry& entry) {
  return joiner.left_attempt > entry.attempt &&
         std::none_of(joiner.inventory.begin(), joiner.inventory.end(), [&](const auto& held) {
           return held.attempt == entry.attempt && held.step == entry.step;
         });
}

// Returns all commits that `processes` reported. The heartbeats of a waiting process may still report an old
// commit, so its list of checkpoints takes precedence.
std::vector<InventoryEntry> find_reported_commits(const Observation& seen, const Processes& processes) {
  std::vector<InventoryEntry> committed;
  const auto note = [&](const InventoryEntry& entry) {
    if (!is_reported_damaged(seen.processes, entry.attempt, entry.step)) committed.push_back(entry);
  };
  for (const auto* process : processes) {
    const auto* told = process->beat && process->beat->committed ? &*process->beat->committed : nullptr;
    if (told != nullptr && !(process->join_request && lacks_checkpoint(*process->join_request, *told)))
      note(*told);
    if (!process->join_request) continue;
    std::for_each(process->join_request->inventory.begin(), process->join_request->inventory.end(), note);
  }
  return committed;
}

// Returns the last durable checkpoint of the status, if all members can reach its storage tier. This
// checkpoint may be in no list: waiting processes may have made their lists before the checkpoint's commit,
// and all other processes may be gone. Returns nothing if a process shows that the checkpoint no longer
// exists.
std::vector<InventoryEntry> stored_checkpoint_entries(const api::TrainingJobStatus& status,
                                                      const std::vector<JoinRequest>& joiners) {
  if (!status.last_checkpoint) return {};
  const ResumePoint& last = *status.last_checkpoint;
  const InventoryEntry entry{.tier = status.last_checkpoint_tier,
                             .attempt = last.attempt,
                             .step = last.step,
                             .digest = last.digest,
                             .is_complete = true};
  if (!is_on_shared_storage(entry)) return {};
  const bool is_missed = std::ranges::any_of(
      joiners, [&](const JoinRequest& joiner) { return lacks_checkpoint(joiner, entry); });
  return is_missed ? std::vector<InventoryEntry>() : std::vector<InventoryEntry>{entry};
}

// Returns when a process began to make the newest list of checkpoints. One new list is enough, because a
// checkpoint on a shared storage tier counts for all processes.
Timestamp newest_list_time(const Processes& processes) {
  Timestamp newest;
  for (const auto* process : processes)
    if (process->join_request) newest = std::max(newest, process->checkpoints_listed_at);
  return newest;
}

// Returns whether a process made a list of checkpoints after the last decision requested it. This list is new
// enough even if listing was slow: another requested list would be just as old when it arrives.
bool is_any_list_requested(const Observation& seen, const Processes& processes) {
  return seen.checkpoint_lists_valid_from && newest_list_time(processes) > *seen.checkpoint_lists_valid_from;
}

// Returns whether all lists of checkpoints were made before the end of the last world, or are so old that an
// unreachable process may have committed a checkpoint after them. A member of the last world lists its
// checkpoints after it has left that world, so its list is newer than the world's end.
bool are_checkpoint_lists_stale(const Observation& seen, const Processes& processes, Timestamp now) {
  constexpr auto kHolds = std::chrono::seconds(2);
  if (is_any_list_requested(seen, processes)) return false;
  const auto& status = seen.job.status;
  const std::uint64_t last = status.attempt.value() - (status.is_world_formed ? 0 : 1);
  const bool has_survivor = std::ranges::any_of(processes, [&](const api::ProcessFacts* process) {
    return process->join_request && process->join_request->has_been_in_world &&
           process->join_request->left_attempt.value() >= last;
  });
  Duration since_end =
      status.is_world_formed ? Duration(0) : Duration::max();  // it ends now, or there was none
  if (!status.is_world_formed && status.world_awaited_since)
    since_end = seen.wall_now.since_epoch - status.world_awaited_since->since_epoch;
  const Duration age = now - newest_list_time(processes);
  return age > kHolds || (!has_survivor && age >= since_end);
}

// Returns whether this decision is the first that knows of a member's completion.
bool is_any_completion_new(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  const auto& known = seen.job.status.members;
  return std::ranges::any_of(members, [&](const api::MemberStatus& member) {
    if (!member.is_completed && member.done == 0) return false;
    return std::ranges::none_of(known, [&](const api::MemberStatus& before) {
      return before.role == member.role && before.index == member.index && before.uid == member.uid &&
             before.is_completed == member.is_completed && before.done == member.done;
    });
  });
}

// Returns the time after which processes must make new lists of checkpoints. Until a new list arrives,
// further calls return the same time, because a later time would make processes begin slow listings anew.
// Only if a member completes meanwhile, the next call returns a time after this completion.
Timestamp request_checkpoint_lists(const Observation& seen, const Processes& processes,
                                   const std::vector<api::MemberStatus>& members,
                                   std::optional<Timestamp> completed, Timestamp now) {
  const bool is_asked = seen.checkpoint_lists_valid_from &&
                        newest_list_time(processes) < *seen.checkpoint_lists_valid_from &&
                        (!completed || *seen.checkpoint_lists_valid_from > *completed);
  return is_asked && !is_any_completion_new(seen, members) ? *seen.checkpoint_lists_valid_from : now;
}

// Returns whether this operator knows a completion of this member only from the job's status or the pod's
// record, and not from the process itself.
bool has_unheard_completion(const Observation& seen, const api::MemberStatus& member) {
  const std::uint32_t processes = seen.job.spec.processes_per_node;
  std::uint64_t unheard = member.is_completed ? ~std::uint64_t{0} >> (64 - processes) : member.done;
  for (const auto* process : processes_of(seen, member)) {
    const std::uint32_t local_rank = process->identity.local_rank;
    if (process->is_completed && local_rank < processes && is_process_of(process->identity, member))
      unheard &= ~(std::uint64_t{1} << local_rank);
  }
  return unheard != 0;
}

// Returns whether a process may have completed after all lists of checkpoints were made, so that no list
// contains its last commit. If no process reported a completion to this operator, the operator does not know
// the time of the completion. But if the stored status had the completion when the operator requested new
// lists, the completion is older than these lists.
bool may_any_completion_be_newer(const Observation& seen, const Processes& processes,
                                 const std::vector<api::MemberStatus>& members,
                                 std::optional<Timestamp> completed, Timestamp now) {
  const Timestamp newest = newest_list_time(processes);
  if (completed && newest <= *completed) return true;
  if (newest >= now) return false;
  if (!is_any_completion_new(seen, members) && is_any_list_requested(seen, processes)) return false;
  return std::ranges::any_of(members,
                             [&](const auto& member) { return has_unheard_completion(seen, member); });
}

// Returns when the newest completion was reported to this operator.
std::optional<Timestamp> find_newest_completion(const Processes& processes) {
  std::optional<Timestamp> newest;
  for (const auto* process : processes)
    if (process->is_completed)
      newest = std::max(process->completed_at, newest.value_or(process->completed_at));
  return newest;
}

// Returns the storage tier on which a process saw the resume point.
std::string tier_of_resume_point(const std::optional<ResumePoint>& resume,
                                 const std::vector<InventoryEntry>& seen_at) {
  std::string tier;
  for (const auto& entry : seen_at) {
    if (!resume || entry.attempt != resume->attempt || entry.step != resume->step) continue;
    if (tier.empty() || is_on_shared_storage(entry)) tier = entry.tier;
  }
  return tier;
}

// Returns an error text if no member finds the run's durable checkpoint, and an empty text otherwise. Without
// this checkpoint, the run must not start over, because perhaps only a volume is missing.
std::string find_missing_checkpoint(const std::optional<ResumePoint>& last,
                                    const std::optional<ResumePoint>& resume) {
  if (!last || resume) return "";
  return "the checkpoint of step " + std::to_string(last->step.value()) +
         " was durable and cannot be found by any member: restore the checkpoints, or start over in "
         "another folder "
         "or under another run name";
}

// Returns the note about a durable checkpoint that no ready member finds, while other members may have it. An
// elastic job may be ready without late or silent members, and a ready member's volume may be missing.
std::string describe_checkpoint_search(const ResumePoint& last, std::size_t unasked) {
  return "; no ready member finds the checkpoint of step " + std::to_string(last.step.value()) +
         ", which was durable: the world forms when " +
         count_with_noun(unasked, "more process", "more processes") +
         " can be asked for it, or when the checkpoint is restored";
}

bool is_checkpoint_abandoned(const ResumePoint& point, const std::vector<JoinRequest>& joiners) {
  return std::any_of(joiners.begin(), joiners.end(), [&](const JoinRequest& joiner) {
    return std::any_of(joiner.inventory.begin(), joiner.inventory.end(), [&](const auto& entry) {
      return entry.attempt == point.attempt && entry.step == point.step && entry.digest == kAbandonedDigest;
    });
  });
}

// Emits an event if the run resumes from a checkpoint that is older than the last durable one. The run then
// repeats steps.
void report_older_resume_point(const std::optional<ResumePoint>& resume,
                               const std::vector<JoinRequest>& joiners, Decision& decision) {
  auto& last = decision.status.last_checkpoint;
  if (last && resume && is_newer(*last, *resume)) {
    const bool is_wished = is_checkpoint_abandoned(*last, joiners);
    decision.actions.push_back(
        EmitEvent{.is_warning = !is_wished,
                  .reason = is_wished ? "RolledBack" : "CheckpointUnreadable",
                  .message = "the checkpoint of step " + std::to_string(last->step.value()) +
                             (is_wished ? " is given up by --resume-from" : " cannot be read") +
                             "; the run goes back to step " + std::to_string(resume->step.value())});
  }
  last = resume;
}

std::string describe_missing(const api::TrainingJobSpec& spec,
                             const std::vector<api::MemberStatus>& members) {
  const std::uint32_t missing = count_missing(spec, members);
  if (missing == 0) return "";
  return ", " + count_with_noun(missing, "member is", "members are") + " missing";
}

void describe_world_wait(const Observation& seen, const Gang& gang, const NextWorldMembers& next_world,
                         api::TrainingJobStatus& status) {
  status.phase = status.attempt.value() <= 1 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message = std::to_string(gang.joiners.size()) + " of " + std::to_string(gang.needed) +
                   " processes are ready for attempt " + std::to_string(status.attempt.value()) +
                   waiting_reason(seen, status);
  if (next_world.last_wait_ends_at)
    status.message +=
        "; the world forms with fewer members at " + format_rfc3339(*next_world.last_wait_ends_at);
}

RunLosses run_losses_of(const api::Restarts& lost) {
  return {.disruption = lost.disruption, .application = lost.application, .hung = lost.hung};
}

// Returns `attempt`, or a higher number if `joiners` know a checkpoint or a world of `attempt` or of a later
// attempt. After a loss of the status, `attempt` may be an old number.
Attempt newest_attempt(Attempt attempt, const std::vector<JoinRequest>& joiners) {
  for (const auto& joiner : joiners) {
    for (const auto& entry : joiner.inventory) {
      if (entry.attempt >= attempt) attempt = entry.attempt.next();
    }
    if (joiner.left_attempt >= attempt) attempt = joiner.left_attempt.next();
  }
  return attempt;
}

void set_running(const Observation& seen, const Gang& gang, const std::optional<ResumePoint>& resume,
                 api::TrainingJobStatus& status) {
  status.phase = api::JobPhase::kRunning;
  status.is_world_formed = true;
  status.world_formed_at = seen.wall_now;
  status.world_awaited_since.reset();
  status.world_size = static_cast<std::uint32_t>(gang.needed);
  for (auto& member : status.members)
    if (!member.is_absent && !member.is_completed) member.has_been_in_world = true;
  // The resumed weights contain no step after the resume point, so the new world repeats these steps.
  const Step resumed = resume ? resume->step : Step(0);
  count_repeated_steps(resumed, status);
  status.step = resumed;
  status.message = "attempt " + std::to_string(status.attempt.value()) + " trains with " +
                   count_with_noun(gang.needed, "process", "processes") + " from step " +
                   std::to_string(status.step.value()) + describe_missing(seen.job.spec, status.members);
}

// If ratoon-launcher starts the programs, gives each completed member a new incarnation. A program learns the
// number of ranks at its start and then waits for all ranks, so the completed members must start again.
// Returns whether any member had completed.
bool renew_completed_members(const Observation& seen, Decision& decision) {
  if (!api::uses_launcher(seen.job.spec)) return false;
  auto& members = decision.status.members;
  const auto count = std::ranges::count_if(members, &api::MemberStatus::is_completed);
  if (count == 0) return false;
  for (auto& member : members)
    if (member.is_completed) member = make_fresh_incarnation(member);
  decision.announcement = announce(seen, decision.status, false, {});
  decision.actions.push_back(
      EmitEvent{.is_warning = false,
                .reason = "MembersRenewed",
                .message = count_with_noun(static_cast<std::size_t>(count), "completed member starts",
                                           "completed members start") +
                           " again, because another member was lost before it had completed"});
  return true;
}

}  // namespace

FormWorldResult form_world(const Observation& seen, Timestamp now, Decision& decision) {
  if (api::is_agentless(seen.job.spec)) {
    form_group(seen, decision);
    return {};
  }
  if (renew_completed_members(seen, decision)) return {};
  auto& status = decision.status;
  NextWorldMembers next_world =
      pick_next_world_members(seen, status.members, status.world_awaited_since.value_or(seen.wall_now), now);
  const Gang gang = gather_joiners(seen, next_world.members);
  describe_world_wait(seen, gang, next_world, status);
  if (!gang.is_complete() || gang.needed == 0) return {.next_wait_ends_at = next_world.next_wait_ends_at};
  const Processes processes = find_relevant_processes(seen, status.members);
  const auto completed = find_newest_completion(processes);
  const Timestamp lists_valid_from =
      request_checkpoint_lists(seen, processes, status.members, completed, now);
  auto known = own_checkpoints_of(status, find_reported_commits(seen, processes));
  for (auto& entry : stored_checkpoint_entries(status, gang.joiners)) known.push_back(std::move(entry));
  const auto resume = pick_resume_point(own_checkpoints_of(status, gang.joiners), known);
  // Other programs load checkpoints of their own. The status may have one of an earlier program of this job,
  // which had the agent.
  const bool has_agent = api::reports_steps(seen.job.spec);
  auto missing = has_agent ? find_missing_checkpoint(status.last_checkpoint, resume) : "";
  const std::size_t unasked = missing.empty() ? 0 : count_unreported_processes(seen, status.members);
  if (unasked > 0) status.message += describe_checkpoint_search(*status.last_checkpoint, unasked);
  const bool are_old = has_agent && seen.job.status.attempt.value() > 0 && status.attempt.value() > 1 &&
                       are_checkpoint_lists_stale(seen, processes, now);
  if (are_old) decision.announcement.checkpoint_lists_valid_from = lists_valid_from;
  if (are_old || unasked > 0) return {.next_wait_ends_at = next_world.next_wait_ends_at};

  if (auto dispute = find_rollback_dispute(gang.joiners); !dispute.empty())
    return {.fatal_reason = std::move(dispute)};
  if (!missing.empty()) return {.fatal_reason = std::move(missing)};
  api::TrainingJobStatus revoked = status;
  if (auto sentence = revoke_completions(seen, resume, revoked); !sentence.empty()) {
    if (may_any_completion_be_newer(seen, processes, status.members, completed, now)) {
      decision.announcement.checkpoint_lists_valid_from = lists_valid_from;
      return {.next_wait_ends_at = next_world.next_wait_ends_at};
    }
    status = std::move(revoked);
    decision.announcement = announce(seen, status, false, {});
    decision.actions.push_back(
        EmitEvent{.is_warning = true, .reason = "CheckpointUnreadable", .message = std::move(sentence)});
    return {.next_wait_ends_at = next_world.next_wait_ends_at};
  }
  status.members = std::move(next_world.members);
  status.attempt = newest_attempt(status.attempt, gang.joiners);
  decision.announcement.attempt = status.attempt;
  if (has_agent) {
    report_older_resume_point(resume, gang.joiners, decision);
    status.last_checkpoint_tier = tier_of_resume_point(resume, known);
  }
  record_first_attempt(status);
  decision.announcement.world = assign_ranks(
      gang, status.attempt, static_cast<double>(seen.job.spec.disruption_policy.heartbeat_seconds), resume);
  for (auto& seat : decision.announcement.world) seat.assignment.losses = run_losses_of(status.restarts);
  set_running(seen, gang, resume, status);
  decision.actions.push_back(
      EmitEvent{.is_warning = false, .reason = "WorldFormed", .message = status.message});
  return {};
}

}  // namespace ratoon::core
