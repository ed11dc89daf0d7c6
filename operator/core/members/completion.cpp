#include "operator/core/members/completion.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/contract/resume_point.h"
#include "base/core/count_with_noun.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation_index.h"
#include "operator/core/world/agentless_group.h"

namespace ratoon::core {
namespace {

// Returns whether the pod's completion record agrees with the commits that the job's members reported. A run
// makes no step after its end, so a checkpoint of a later step in a later attempt shows that the recorded end
// was wrong.
bool is_completion_record_valid(const Observation& seen, const api::Pod& pod) {
  const auto& known = seen.job.status.last_checkpoint;
  if (!known || !pod.last_checkpoint) return true;
  const ResumePoint& last = *pod.last_checkpoint;
  if (known->attempt > last.attempt && known->step > last.step) return false;
  return may_be_final_checkpoint(last, known->attempt, known->step, known->digest);
}

// Returns the newest step of the last world, including reports of completed processes, which may have arrived
// after the world's end.
Step newest_step(const Observation& seen, const api::TrainingJobStatus& status) {
  Step newest = status.step;
  for (const auto& process : seen.processes)
    if (process.is_completed && process.beat) newest = std::max(newest, process.beat->step);
  for (const auto& member : status.members) {
    const api::Pod* pod = member.is_completed ? find_pod(seen, member) : nullptr;
    if (pod != nullptr && pod->last_checkpoint) newest = std::max(newest, pod->last_checkpoint->step);
  }
  return newest;
}

}  // namespace

bool is_completed(const Observation& seen, const api::MemberStatus& member) {
  if (member.is_completed) return true;
  const api::Pod* pod = find_pod(seen, member);
  // One process of a pod writes the completion record, perhaps before the others complete. Exit code 0 of the
  // launcher shows that all processes of the pod have completed.
  const bool is_of_all = seen.job.spec.processes_per_node == 1 || (pod != nullptr && pod->exit_code == 0);
  const bool has_record = pod != nullptr && pod->is_completed && is_completion_record_valid(seen, *pod);
  if (has_record && is_of_all && !member.uid.empty()) return true;
  // ratoon-launcher exits with 0 only if its program exited with 0 and was not asked to leave.
  if (api::uses_launcher(seen.job.spec))
    return pod != nullptr && !member.uid.empty() && pod->phase == api::PodPhase::kSucceeded &&
           pod->exit_code == 0;
  if (api::is_agentless(seen.job.spec))
    return pod != nullptr && !member.uid.empty() && has_program_completed(seen, *pod);
  return std::cmp_equal(std::popcount(completed_ranks_of(seen, member)), seen.job.spec.processes_per_node);
}

std::uint64_t completed_ranks_of(const Observation& seen, const api::MemberStatus& member) {
  std::uint64_t done = member.done;
  for (const auto* process : processes_of(seen, member)) {
    const std::uint32_t local_rank = process->identity.local_rank;
    if (local_rank >= seen.job.spec.processes_per_node || !is_process_of(process->identity, member)) continue;
    const std::uint64_t bit = std::uint64_t{1} << local_rank;
    done = process->is_completed ? done | bit : done & ~bit;
  }
  return done;
}

void record_completed_step(const Observation& seen, api::TrainingJobStatus& status) {
  for (const auto& member : status.members) {
    const api::Pod* pod = find_pod(seen, member);
    if (pod == nullptr || !pod->is_completed || !pod->last_checkpoint ||
        !is_completion_record_valid(seen, *pod))
      continue;
    if (pod->last_checkpoint->attempt == status.attempt)
      status.step = std::max(status.step, pod->last_checkpoint->step);
  }
}

std::string revoke_completions(const Observation& seen, const std::optional<ResumePoint>& resume,
                               api::TrainingJobStatus& status) {
  const auto is_any_done = [](const api::MemberStatus& member) {
    return member.is_completed || member.done != 0;
  };
  const Step from = resume ? resume->step : Step(0);
  const Step end = newest_step(seen, status);
  const auto count = std::ranges::count_if(status.members, is_any_done);
  if (count == 0 || from >= end) return "";
  for (auto& member : status.members)
    if (is_any_done(member)) member = make_fresh_incarnation(member);
  return "the checkpoint of step " + std::to_string(end.value()) + ", with which " +
         count_with_noun(static_cast<std::size_t>(count), "member was", "members were") +
         " done, can no longer be loaded: the run goes on from step " + std::to_string(from.value()) +
         " with all members";
}

bool has_made_last_step(const Observation& seen) {
  const auto& status = seen.job.status;
  const auto is_at_end = [&](const api::ProcessFacts& process) {
    if (!process.beat || process.beat->attempt != status.attempt) return false;
    const auto& outlook = process.beat->outlook;
    return process.is_completed || (outlook && outlook->total > 0 && outlook->position >= outlook->total);
  };
  return std::ranges::any_of(status.members, [](const auto& m) { return m.is_completed || m.done != 0; }) ||
         std::ranges::any_of(seen.processes, is_at_end);
}

}  // namespace ratoon::core
