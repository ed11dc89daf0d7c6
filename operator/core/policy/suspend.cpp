#include "operator/core/policy/suspend.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>
#include <utility>

#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"
#include "operator/core/policy/save_time.h"
#include "operator/core/policy/time_limit.h"
#include "operator/core/status/progress.h"
#include "operator/core/world/announce.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

// Returns whether every member has sent a message to this operator. Until every member has sent a message, a
// suspension waits, because a silent member may be in a long save. A member that stays silent for too long
// counts as lost.
bool have_all_members_reported(const Observation& seen, const api::TrainingJobStatus& status) {
  return std::ranges::all_of(status.members, [&](const auto& member) {
    if (member.is_absent || is_completed(seen, member)) return true;
    return std::ranges::any_of(processes_of(seen, member),
                               [&](const auto* process) { return is_process_of(process->identity, member); });
  });
}

// Returns whether a pod of this incarnation is known, from the status or from the observation.
bool has_pod(const Observation& seen, const api::MemberStatus& member) {
  return !member.uid.empty() || find_pod(seen, member) != nullptr;
}

// Returns whether any pod of the job still occupies its node or counts against a resource quota.
bool is_any_pod_left(const Observation& seen) {
  return std::ranges::any_of(
      seen.pods, [](const api::Pod& pod) { return !pod.has_ended() || pod.has_running_sidecars; });
}

}  // namespace

std::optional<WallTime> drain_deadline(const Observation& seen, const api::TrainingJobStatus& status) {
  if (!have_all_members_reported(seen, status)) return std::nullopt;
  return WallTime{status.suspending_since.value_or(WallTime{}).since_epoch + save_timeout(seen)};
}

void release_members(const Observation& seen, std::vector<api::MemberStatus>& members) {
  for (auto& member : members) {
    if (member.is_completed && api::reports_steps(seen.job.spec)) continue;
    if (!member.is_completed && !has_pod(seen, member) && !member.is_leaving()) continue;
    member = make_fresh_incarnation(member);
  }
}

void free_nodes(const Observation& seen, const std::string& reason, Decision& decision) {
  auto& status = decision.status;
  if (status.is_world_formed) status.attempt = status.attempt.next();
  status.is_world_formed = false;
  status.world_size = 0;
  status.world_formed_at.reset();
  status.world_awaited_since.reset();
  release_members(seen, status.members);
  Observation rests = seen;
  rests.job.status = status;
  status.members = next_members(rests);  // with the size that the spec has now
  const bool has_grace = !api::reports_steps(seen.job.spec);
  for (const auto& pod : seen.pods) {
    if ((pod.has_ended() && !pod.has_running_sidecars) || pod.is_deleting) continue;
    Action removal = DeletePod{.name = pod.name, .uid = pod.uid, .reason = reason, .has_grace = has_grace};
    decision.actions.push_back(std::move(removal));
  }
}

std::optional<Decision> drain(const Observation& seen, const RosterChange& change,
                              std::optional<Timestamp> next_check, const std::string& purpose,
                              api::TrainingJobStatus status) {
  if (api::is_agentless(seen.job.spec)) return std::nullopt;  // such programs receive no orders
  const bool stands = status.is_world_formed && change.keeps_world() && is_intact(seen, status.members);
  const auto end = drain_deadline(seen, status);
  if (!stands || (end && *end <= seen.wall_now)) return std::nullopt;
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

void keep_agent_until_suspended(Observation& seen) {
  if (!seen.job.spec.is_suspended) return;
  const auto pod = std::ranges::find_if(seen.pods, [&](const api::Pod& candidate) {
    const bool counts = !candidate.has_ended() || is_in_roster(candidate, seen.job.status.members);
    return counts && candidate.agent != api::PodAgent::kUnknown;
  });
  if (pod == seen.pods.end()) return;
  for (auto& role : seen.job.spec.roles) {
    role.has_agent = pod->agent != api::PodAgent::kNone;
    role.uses_launcher = pod->agent == api::PodAgent::kLauncher;
  }
}

bool has_no_world_since_suspension(const api::TrainingJobStatus& status) {
  const auto find = [&](std::string_view type) {
    return std::ranges::find(status.conditions, type, &api::Condition::type);
  };
  const auto suspended = find(api::name_of(api::JobPhase::kSuspended));
  const auto running = find(api::name_of(api::JobPhase::kRunning));
  if (suspended == status.conditions.end()) return false;
  return running == status.conditions.end() || (!running->is_true && running->since <= suspended->since);
}

std::optional<std::uint32_t> processes_per_member_until_suspended(const Observation& seen) {
  const auto& status = seen.job.status;
  if (!seen.job.spec.is_suspended || !status.is_world_formed || api::is_agentless(seen.job.spec))
    return std::nullopt;
  std::uint32_t processes = 0;
  std::uint32_t members = 0;
  for (const auto& member : status.members) {
    processes = std::max(processes, static_cast<std::uint32_t>(std::bit_width(member.done)));
    members += member.is_absent ? 0U : 1U;
  }
  for (const auto& seat : seen.world) processes = std::max(processes, seat.process.local_rank + 1);
  if (!seen.world.empty()) return processes;
  // After a change of the leader only the size of the world is known. Processes that had completed before the
  // world was formed are not in it.
  const bool is_any_done = std::ranges::any_of(
      status.members, [](const auto& member) { return member.is_completed || member.done != 0; });
  if (is_any_done || members == 0 || status.world_size % members != 0) return std::nullopt;
  return status.world_size / members;
}

Decision suspend(const Observation& seen, const RosterChange& change, std::optional<Timestamp> next_check,
                 api::TrainingJobStatus status) {
  if (!status.suspending_since) status.suspending_since = seen.wall_now;
  if (auto draining = drain(seen, change, next_check, "to be suspended", status)) return std::move(*draining);
  record_saves_before_leaving(seen.processes, status);
  stop_active_time(seen.wall_now, status);
  status.capacity_wait.reset();
  Decision decision{.status = std::move(status), .actions = change.actions};
  free_nodes(seen, "suspended", decision);
  status = std::move(decision.status);
  const Step from = status.last_checkpoint ? status.last_checkpoint->step : Step(0);
  if (status.phase != api::JobPhase::kSuspended && is_any_pod_left(seen)) {
    status.phase = status.attempt.value() <= 1 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
    status.message = "its pods end; when resumed, the run goes on from step " + std::to_string(from.value());
  } else {
    status.message = "suspended; when resumed, the run goes on from step " + std::to_string(from.value());
    if (std::exchange(status.phase, api::JobPhase::kSuspended) != api::JobPhase::kSuspended)
      decision.actions.push_back(
          EmitEvent{.is_warning = false, .reason = "Suspended", .message = status.message});
  }
  decision.announcement = announce(seen, status, false, {});
  decision.announcement.reason = status.message;
  decision.status = std::move(status);
  return decision;
}

}  // namespace ratoon::core
