#include "operator/core/loss/deadlines.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>
#include <utility>

#include "operator/core/loss/silence.h"
#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

WallTime deadline_after(WallTime since, std::uint32_t seconds) {
  return {since.since_epoch + std::chrono::seconds(seconds)};
}

WallTime to_wall_time(const Observation& seen, Timestamp moment, Timestamp now) {
  return {seen.wall_now.since_epoch + (moment - now)};
}

// Returns the time by which every live process must have sent a heartbeat to this operator.
WallTime first_heartbeats_deadline(const Observation& seen, Timestamp now) {
  return to_wall_time(seen, seen.listening_since + silence_limit(seen), now);
}

// Returns when a member whose first message has been awaited since `first_message_awaited_since` counts
// as late. A member that started before this operator process received messages gets at least the
// longer time limit for many silent members (silence.h), because it may still be calling the previous
// leader.
WallTime start_deadline_of(const Observation& seen, WallTime first_message_awaited_since, Timestamp now) {
  const WallTime late = deadline_after(first_message_awaited_since, seen.job.spec.start_deadline_seconds);
  if (first_message_awaited_since > to_wall_time(seen, seen.listening_since, now)) return late;
  return std::max(late,
                  to_wall_time(seen, seen.listening_since + silence_limit(seen) * kMassSilenceFactor, now));
}

bool has_sent_message(const Observation& seen, const api::MemberStatus& member) {
  std::uint64_t voices = member.done;  // reported to this operator or to an earlier one
  for (const auto* process : processes_of(seen, member)) {
    const std::uint32_t local_rank = process->identity.local_rank;
    if (is_process_of(process->identity, member) && local_rank < seen.job.spec.processes_per_node)
      voices |= std::uint64_t{1} << local_rank;
  }
  return std::cmp_greater_equal(std::popcount(voices), seen.job.spec.processes_per_node);
}

// Returns whether the operator still waits for a running member's first message; silence.h has the rules for
// members of the current world.
bool is_first_message_awaited(const Observation& seen, const api::TrainingJobStatus& status,
                              const api::MemberStatus& member) {
  if (api::is_agentless(seen.job.spec) || (status.is_world_formed && !member.is_absent)) return false;
  const api::Pod* pod = find_pod(seen, member);
  return pod != nullptr && pod->phase == api::PodPhase::kRunning && !pod->is_deleting &&
         !is_completed(seen, member) && !has_sent_message(seen, member);
}

// Returns when a message of any process of the job last arrived.
std::optional<WallTime> newest_message_time(const Observation& seen, Timestamp now) {
  if (seen.processes.empty()) return std::nullopt;
  const auto& newest = *std::ranges::max_element(seen.processes, {}, &api::ProcessFacts::last_heard);
  return WallTime{seen.wall_now.since_epoch - std::max(Duration(0), now - newest.last_heard)};
}

// Returns when a process of the current world last reported a new step, or sent its first message, to this
// operator process. Returns nothing if some process has sent no message to this operator process, or is
// silent now: the world may have made steps that it could not report.
std::optional<Timestamp> newest_progress_time(const Observation& seen, Timestamp now,
                                              const api::TrainingJobStatus& status) {
  const Timestamp silent_before = now - silence_limit(seen);
  std::optional<Timestamp> newest;
  for (const auto& member : status.members) {
    if (member.is_absent || is_completed(seen, member)) continue;
    std::uint64_t voices = member.done;
    for (const auto* process : processes_of(seen, member)) {
      if (!is_process_of(process->identity, member)) continue;
      newest = std::max(process->last_progress_at, newest.value_or(process->last_progress_at));
      const std::uint32_t local_rank = process->identity.local_rank;
      const Timestamp heard = process->last_heard;
      const bool is_heard = process->is_completed || (heard >= seen.listening_since && heard > silent_before);
      if (is_heard && local_rank < api::kProcessesPerNodeMax) voices |= std::uint64_t{1} << local_rank;
    }
    if (std::cmp_less(std::popcount(voices), seen.job.spec.processes_per_node)) return std::nullopt;
  }
  return newest;
}

bool is_in_collective(const Observation& seen, const api::MemberStatus& member) {
  return std::ranges::any_of(processes_of(seen, member), [&](const api::ProcessFacts* process) {
    return is_process_of(process->identity, member) && process->beat &&
           process->beat->phase == ProcessPhase::kCollective;
  });
}

}  // namespace

std::optional<WallTime> record_first_message_waits(const Observation& seen, Timestamp now,
                                                   api::TrainingJobStatus& status) {
  const std::uint32_t deadline = seen.job.spec.start_deadline_seconds;
  std::optional<WallTime> next;
  for (auto& member : status.members) {
    if (deadline == 0 || !is_first_message_awaited(seen, status, member)) {
      member.first_message_awaited_since.reset();
      continue;
    }
    if (!member.first_message_awaited_since) member.first_message_awaited_since = seen.wall_now;
    const WallTime late = start_deadline_of(seen, *member.first_message_awaited_since, now);
    next = std::min(late, next.value_or(late));
  }
  return next;
}

std::vector<MemberToReplace> find_late_members(const Observation& seen, Timestamp now) {
  const std::uint32_t deadline = seen.job.spec.start_deadline_seconds;
  std::vector<MemberToReplace> late;
  if (deadline == 0) return late;
  const auto newest = newest_message_time(seen, now);
  const bool has_listened = now - seen.listening_since >= std::chrono::seconds(deadline);
  for (const auto& member : seen.job.status.members) {
    if (!member.first_message_awaited_since ||
        start_deadline_of(seen, *member.first_message_awaited_since, now) > seen.wall_now)
      continue;
    if (!is_first_message_awaited(seen, seen.job.status, member)) continue;
    const std::string sentence = "sent no message within " + std::to_string(deadline) + " s of its start";
    if (!newest || *newest < *member.first_message_awaited_since)
      late.push_back({member,
                      {.cause = EndCause::kDisruption,
                       .explanation = sentence + ", and no process of its job did: see its log, and check "
                                                 "whether its pod can reach the operator's port for members",
                       .is_whole_job_unheard = true}});
    else if (!has_listened)
      late.push_back(
          {member,
           {.cause = EndCause::kDisruption,
            .explanation =
                sentence +
                ", as far as this operator knows, which has received messages for only a part of this time",
            .is_whole_job_unheard = true}});
    else
      late.push_back({member, {EndCause::kApplication, sentence, /*is_shared=*/true}});
  }
  return late;
}

std::vector<MemberToReplace> find_stalled_members(const Observation& seen, Timestamp now) {
  const auto& status = seen.job.status;
  const auto stalled_at = stall_deadline(seen, now, status);
  if (!stalled_at || *stalled_at > seen.wall_now) return {};
  std::vector<api::MemberStatus> seated;
  for (const auto& member : status.members)
    if (!member.is_absent && !is_completed(seen, member)) seated.push_back(member);
  std::vector<api::MemberStatus> culprits;
  for (const auto& member : seated)
    if (!is_in_collective(seen, member)) culprits.push_back(member);
  if (culprits.empty()) culprits = seated;
  std::vector<MemberToReplace> verdicts;
  for (const auto& member : culprits) {
    verdicts.push_back(
        {member,
         {EndCause::kApplication,
          "its world made no step for " + std::to_string(seen.job.spec.progress_deadline_seconds) + " s",
          /*is_shared=*/true}});
  }
  return verdicts;
}

std::optional<WallTime> stall_deadline(const Observation& seen, Timestamp now,
                                       const api::TrainingJobStatus& status) {
  const auto& spec = seen.job.spec;
  if (spec.progress_deadline_seconds == 0 || !status.is_world_formed || !status.world_formed_at)
    return std::nullopt;
  if (has_made_last_step(seen)) return std::nullopt;  // copies of the last checkpoint have no time limit
  const auto moved = newest_progress_time(seen, now, status);
  if (!moved) return std::nullopt;  // find_silent_members() judges processes without messages
  const WallTime formed =
      std::max(*status.world_formed_at, status.last_step_at.value_or(*status.world_formed_at));
  // The first term uses the wall clock, because an earlier leader may have recorded the newest step. The
  // second uses the steady clock, because the wall clock jumps when a sleeping machine wakes up.
  return std::max({deadline_after(formed, spec.progress_deadline_seconds),
                   deadline_after(to_wall_time(seen, *moved, now), spec.progress_deadline_seconds),
                   first_heartbeats_deadline(seen, now)});
}

}  // namespace ratoon::core
