#include "operator/core/world/form_world.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "base/contract/resume_point.h"
#include "base/core/counted.h"
#include "operator/core/members/completion.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation_index.h"
#include "operator/core/status/ledger.h"
#include "operator/core/status/progress.h"
#include "operator/core/status/why_waiting.h"
#include "operator/core/world/announce.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/form_agentless_group.h"
#include "operator/core/world/fresh_start.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

using Processes = std::vector<const api::ProcessFacts*>;

// Returns the processes whose commits and lists of checkpoints count: processes of current members, completed
// processes, and processes of older incarnations (a successor may have begun to wait before their last save).
// The stored list of members may lack the UID of a pod that was observed only now, so the new list is used
// too.
Processes processes_until_now(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  auto named = named_incarnations(seen.job.status.members);
  std::ranges::copy(named_incarnations(members), std::back_inserter(named));
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

// Returns all commits that `processes` reported.
std::vector<InventoryEntry> committed_until_now(const Observation& seen, const Processes& processes) {
  std::vector<InventoryEntry> committed;
  const auto note = [&](const InventoryEntry& entry) {
    if (!is_reported_damaged(seen.processes, entry.attempt, entry.step)) committed.push_back(entry);
  };
  for (const auto* process : processes) {
    if (process->beat && process->beat->committed) note(*process->beat->committed);
    if (!process->waiting) continue;
    std::for_each(process->waiting->inventory.begin(), process->waiting->inventory.end(), note);
  }
  return committed;
}

// Returns the last durable checkpoint of the status, if all members can reach its storage tier: processes
// that saw the commit may be gone, and waiting processes may have made their lists before the commit. If a
// process that was in a newer world does not list this checkpoint, the checkpoint no longer exists, and the
// function returns nothing.
std::vector<InventoryEntry> noted(const api::TrainingJobStatus& status,
                                  const std::vector<JoinRequest>& joiners) {
  if (!status.last_checkpoint) return {};
  const ResumePoint& last = *status.last_checkpoint;
  const InventoryEntry entry{.tier = status.last_checkpoint_tier,
                             .attempt = last.attempt,
                             .step = last.step,
                             .digest = last.digest,
                             .is_complete = true};
  if (!is_shared(entry)) return {};
  const bool is_missed = std::any_of(joiners.begin(), joiners.end(), [&](const JoinRequest& joiner) {
    return joiner.left_attempt > last.attempt &&
           std::none_of(joiner.inventory.begin(), joiner.inventory.end(), [&](const auto& held) {
             return held.attempt == last.attempt && held.step == last.step;
           });
  });
  return is_missed ? std::vector<InventoryEntry>() : std::vector<InventoryEntry>{entry};
}

// Returns when a process began to make the newest list of checkpoints. One new list of checkpoints is enough,
// because a checkpoint on a shared storage tier counts for all processes.
Timestamp newest_list(const Processes& processes) {
  Timestamp newest;
  for (const auto* process : processes)
    if (process->waiting) newest = std::max(newest, process->listed);
  return newest;
}

// Whether some process made a list of checkpoints after the last decision had requested it. If there is a
// list after the request, do not request one more: if listing is slow, the next list would be just as old.
bool is_any_list_requested(const Observation& seen, const Processes& processes) {
  return seen.lists_from && newest_list(processes) > *seen.lists_from;
}

// Returns whether all lists of checkpoints are from before the end of the last world, or so old that an
// unreachable process may have committed since then. A member of the last world lists checkpoints after it
// has left, so its list is not from before the world's end.
bool are_lists_old(const Observation& seen, const Processes& processes, Timestamp now) {
  constexpr auto kHolds = std::chrono::seconds(2);
  if (is_any_list_requested(seen, processes)) return false;
  const auto& status = seen.job.status;
  const std::uint64_t last = status.attempt.value() - (status.is_formed ? 0 : 1);
  const bool has_survivor = std::ranges::any_of(processes, [&](const api::ProcessFacts* process) {
    return process->waiting && process->waiting->has_met && process->waiting->left_attempt.value() >= last;
  });
  Duration since_end = status.is_formed ? Duration(0) : Duration::max();  // it ends now, or there was none
  if (!status.is_formed && status.waiting_since)
    since_end = seen.wall_now.since_epoch - status.waiting_since->since_epoch;
  const Duration age = now - newest_list(processes);
  return age > kHolds || (!has_survivor && age >= since_end);
}

// Returns whether a member's completion is known only since this decision.
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

// Returns the time after which new lists of checkpoints must be made. The returned time stays the same until
// a new list arrives: otherwise each decision would make slow listings start again. If a member completes
// after the returned time, the next returned time is after the completion.
Timestamp ask_for_lists(const Observation& seen, const Processes& processes,
                        const std::vector<api::MemberStatus>& members, std::optional<Timestamp> completed,
                        Timestamp now) {
  const bool is_asked = seen.lists_from && newest_list(processes) < *seen.lists_from &&
                        (!completed || *seen.lists_from > *completed);
  return is_asked && !is_any_completion_new(seen, members) ? *seen.lists_from : now;
}

// Returns whether the job's status or the pod's record has a completion of this member that no process
// reported to this operator process.
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

// Returns whether a process may have completed after all lists of checkpoints were made, so that its last
// commit is in none of them. If no process reported a completion to this operator process, the completion's
// time is unknown. If the stored status already had the completion when new lists were requested, the
// completion came before these lists.
bool may_any_completion_be_newer(const Observation& seen, const Processes& processes,
                                 const std::vector<api::MemberStatus>& members,
                                 std::optional<Timestamp> completed, Timestamp now) {
  const Timestamp newest = newest_list(processes);
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

// Returns the storage tier on which the resume point was seen.
std::string tier_of(const std::optional<ResumePoint>& resume, const std::vector<InventoryEntry>& seen_at) {
  std::string tier;
  for (const auto& entry : seen_at) {
    if (!resume || entry.attempt != resume->attempt || entry.step != resume->step) continue;
    if (tier.empty() || is_shared(entry)) tier = entry.tier;
  }
  return tier;
}

// Returns an error if the run has a durable checkpoint that no member finds: a missing volume must not make
// the run start over.
std::string find_missing_checkpoint(const std::optional<ResumePoint>& last,
                                    const std::optional<ResumePoint>& resume) {
  if (!last || resume) return "";
  return "the checkpoint of step " + std::to_string(last->step.value()) +
         " was durable and cannot be found by any member: restore the checkpoints, or start over in "
         "another folder "
         "or under another run name";
}

bool is_given_up(const ResumePoint& point, const std::vector<JoinRequest>& joiners) {
  return std::any_of(joiners.begin(), joiners.end(), [&](const JoinRequest& joiner) {
    return std::any_of(joiner.inventory.begin(), joiner.inventory.end(), [&](const auto& entry) {
      return entry.attempt == point.attempt && entry.step == point.step && entry.digest == kGivenUp;
    });
  });
}

// Reports if the run resumes from a checkpoint older than the last durable one and thus repeats steps.
void tell_of_older_point(const std::optional<ResumePoint>& resume, const std::vector<JoinRequest>& joiners,
                         Decision& decision) {
  auto& last = decision.status.last_checkpoint;
  if (last && resume && is_newer(*last, *resume)) {
    const bool is_wished = is_given_up(*last, joiners);
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
  return ", " + counted(missing, "member is", "members are") + " missing";
}

void note_wait(const Observation& seen, const Gang& gang, const NextWorldMembers& next_world,
               api::TrainingJobStatus& status) {
  status.phase = status.attempt.value() <= 1 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
  status.message = std::to_string(gang.joiners.size()) + " of " + std::to_string(gang.needed) +
                   " processes are ready for attempt " + std::to_string(status.attempt.value()) +
                   why_waiting(seen, status);
  if (next_world.fewer_at)
    status.message += "; the world forms with fewer members at " + format_rfc3339(*next_world.fewer_at);
}

RunLosses losses_of(const api::Restarts& lost) {
  return {.disruption = lost.disruption, .application = lost.application, .hung = lost.hung};
}

// Even if the status was lost, the attempt must not repeat a number of which checkpoints exist already.
Attempt newest_attempt(Attempt attempt, const std::vector<JoinRequest>& joiners) {
  for (const auto& joiner : joiners) {
    for (const auto& entry : joiner.inventory) {
      if (entry.attempt >= attempt) attempt = entry.attempt.next();
    }
    if (joiner.left_attempt >= attempt) attempt = joiner.left_attempt.next();
  }
  return attempt;
}

void stand(const Observation& seen, const Gang& gang, const std::optional<ResumePoint>& resume,
           api::TrainingJobStatus& status) {
  status.phase = api::JobPhase::kRunning;
  status.is_formed = true;
  status.formed_at = seen.wall_now;
  status.waiting_since.reset();
  status.world_size = static_cast<std::uint32_t>(gang.needed);
  // Steps after the resume point are in no weights any longer, so the world repeats them.
  const Step resumed = resume ? resume->step : Step(0);
  count_steps_made_again(resumed, status);
  status.step = resumed;
  status.message = "attempt " + std::to_string(status.attempt.value()) + " trains with " +
                   counted(gang.needed, "process", "processes") + " from step " +
                   std::to_string(status.step.value()) + describe_missing(seen.job.spec, status.members);
}

}  // namespace

FormWorldResult form_world(const Observation& seen, Timestamp now, Decision& decision) {
  if (api::is_group(seen.job.spec)) {
    form_group(seen, decision);
    return {};
  }
  auto& status = decision.status;
  NextWorldMembers next_world =
      pick_next_world_members(seen, status.members, status.waiting_since.value_or(seen.wall_now));
  const Gang gang = gather(seen, next_world.members);
  note_wait(seen, gang, next_world, status);
  if (!gang.is_complete() || gang.needed == 0) return {.next_at = next_world.next_at};
  const Processes processes = processes_until_now(seen, status.members);
  const auto completed = find_newest_completion(processes);
  const Timestamp lists_from = ask_for_lists(seen, processes, status.members, completed, now);
  if (seen.job.status.attempt.value() > 0 && status.attempt.value() > 1 &&
      are_lists_old(seen, processes, now)) {
    decision.announcement.lists_from = lists_from;
    return {.next_at = next_world.next_at};
  }

  if (auto dispute = find_rollback_dispute(gang.joiners); !dispute.empty())
    return {.fatal = std::move(dispute)};

  auto known = own_checkpoints_of(status, committed_until_now(seen, processes));
  for (auto& entry : noted(status, gang.joiners)) known.push_back(std::move(entry));
  const auto resume = pick_resume_point(own_checkpoints_of(status, gang.joiners), known);
  if (auto missing = find_missing_checkpoint(status.last_checkpoint, resume); !missing.empty())
    return {.fatal = std::move(missing)};
  api::TrainingJobStatus revoked = status;
  if (auto sentence = revoke_completions(seen, resume, revoked); !sentence.empty()) {
    if (may_any_completion_be_newer(seen, processes, status.members, completed, now)) {
      decision.announcement.lists_from = lists_from;
      return {.next_at = next_world.next_at};
    }
    status = std::move(revoked);
    decision.announcement = announce(seen, status, false, {});
    decision.actions.push_back(
        EmitEvent{.is_warning = true, .reason = "CheckpointUnreadable", .message = std::move(sentence)});
    return {.next_at = next_world.next_at};
  }
  status.members = std::move(next_world.members);
  status.attempt = newest_attempt(status.attempt, gang.joiners);
  decision.announcement.attempt = status.attempt;
  tell_of_older_point(resume, gang.joiners, decision);
  status.last_checkpoint_tier = tier_of(resume, known);
  begin_lineage(status);
  decision.announcement.world = assign_seats(
      gang, status.attempt, static_cast<double>(seen.job.spec.disruption_policy.heartbeat_seconds), resume);
  for (auto& seat : decision.announcement.world) seat.assignment.losses = losses_of(status.restarts);
  stand(seen, gang, resume, status);
  decision.actions.push_back(
      EmitEvent{.is_warning = false, .reason = "WorldFormed", .message = status.message});
  return {};
}

}  // namespace ratoon::core
