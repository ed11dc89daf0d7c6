#include "tests/property/operator/recount.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace ratoon::sim {
namespace {

constexpr Duration kNeighboursHave = std::chrono::seconds(30);

template <class List, class Item>
bool holds(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_met(const api::RestartRule& rule, const api::Pod& pod) {
  if (!decides(rule.roles, pod.role)) return false;
  for (const auto& reason : pod.end_reasons)
    if (holds(rule.reasons, reason)) return true;
  if (pod.is_evicted || !pod.exit_code || *pod.exit_code <= 0) return false;
  const auto code = static_cast<std::uint32_t>(*pod.exit_code);
  return holds(rule.exit_codes, code) || (code > 128 && holds(rule.signals, code - 128));
}

Toll toll_of_end(const api::RestartPolicy& policy, const api::Pod& pod, bool node_goes) {
  static const std::map<api::RuleAction, Toll> kActions = {{api::RuleAction::kRestart, Toll::kBudget},
                                                           {api::RuleAction::kFail, Toll::kJob},
                                                           {api::RuleAction::kIgnore, Toll::kFree}};
  static const std::map<int, Toll> kCodes = {
      {80, Toll::kFree}, {81, Toll::kFree}, {82, Toll::kJob},   {85, Toll::kFree},  {86, Toll::kFree},
      {83, Toll::kJob},  {84, Toll::kFree}, {130, Toll::kFree}, {137, Toll::kFree}, {143, Toll::kFree}};
  for (const auto& rule : policy.rules)
    if (is_met(rule, pod)) return kActions.at(rule.action);
  if (pod.is_evicted) return Toll::kFree;
  if (holds(pod.end_reasons, "OOMKilled")) return Toll::kBudget;
  if (holds(pod.end_reasons, "Unknown") && pod.exit_code == 255) return Toll::kFree;
  if (!pod.exit_code) return Toll::kFree;
  if (*pod.exit_code == 0 && node_goes) return Toll::kFree;
  const auto known = kCodes.find(*pod.exit_code);
  return known == kCodes.end() ? Toll::kBudget : known->second;
}

bool was_said(const Lost& lost, const char* words) {
  return lost.said.find(words) != std::string::npos;
}

// The operator may not have been able to receive its messages.
bool is_whole_job_unheard(const Lost& lost) {
  return was_said(lost, "no process of its job did") || was_said(lost, "as far as this operator knows");
}

// The storage, an accelerator or the connection to the operator failed: no limit counts such an end unless
// the job set it.
bool is_outage(const Lost& lost) {
  const bool runs = lost.pod != nullptr && !lost.pod->has_ended() && !lost.pod->is_deleting;
  const bool is_storage_fault = lost.pod != nullptr && lost.pod->exit_code == 84;
  const bool is_device_fault = lost.pod != nullptr && lost.pod->exit_code == 85;
  return (runs && is_whole_job_unheard(lost)) || is_storage_fault || is_device_fault;
}

// The messages about earlier incarnations.
struct Said {
  bool stalled = false;
  bool hung = false;
};

// For a pod that runs only the reason is known; a world that stalls is one failure in any place, as are
// members that are late together, and a hang.
Toll toll_of(const api::TrainingJobSpec& spec, const Lost& lost, Said& said) {
  if (lost.pod == nullptr || (lost.pod->is_deleting && !lost.trains_on)) return Toll::kFree;
  if (lost.pod->has_ended()) return toll_of_end(spec.restart_policy, *lost.pod, lost.node_goes);
  if (is_whole_job_unheard(lost)) return Toll::kFree;
  if (was_said(lost, "sent no message within") || was_said(lost, "made no step for"))
    return std::exchange(said.stalled, true) ? Toll::kFree : Toll::kBudget;
  if (was_said(lost, ": hung: ")) return std::exchange(said.hung, true) ? Toll::kFree : Toll::kHang;
  return Toll::kFree;
}

// The platform itself reports that it took the pod, that it has no such pod, or that it does not know; or its
// network between members is cut.
bool is_platform_caused(const Lost& lost) {
  if (lost.pod == nullptr || (lost.pod->is_deleting && !lost.trains_on)) return true;
  if (!lost.pod->has_ended() && was_said(lost, ": has no connection to ")) return true;
  const bool is_reset = holds(lost.pod->end_reasons, "Unknown") && lost.pod->exit_code == 255;
  return lost.pod->has_ended() && (lost.pod->is_evicted || !lost.pod->kubelet_rejection.empty() || is_reset);
}

bool is_process_of(const api::Pod& pod, const api::MemberStatus& member) {
  return pod.role == member.role && pod.index == member.index &&
         (pod.incarnation == member.incarnation ||
          (!member.is_completed && member.successor != 0 && pod.incarnation == member.successor));
}

}  // namespace

std::size_t size_of(const api::TrainingJobSpec& spec) {
  std::size_t all = 0;
  for (const auto& role : spec.roles) {
    const bool is_sized_by_job = !role.replicas;
    const std::uint32_t places = spec.elastic_policy ? spec.elastic_policy->members_max : 0;
    all += is_sized_by_job ? std::max(spec.num_nodes, places) : *role.replicas;
  }
  return all;
}

std::vector<api::MemberStatus> members_of(const api::TrainingJob& job) {
  if (job.spec.is_suspended && job.status.is_world_formed) return job.status.members;
  std::vector<api::MemberStatus> members;
  for (const auto& role : job.spec.roles) {
    api::TrainingJobSpec alone = job.spec;
    alone.roles = {role};
    for (std::uint32_t index = 0; index < size_of(alone); ++index) {
      api::MemberStatus member{.role = role.name, .index = index, .uid = ""};
      for (const auto& known : job.status.members)
        if (known.role == role.name && known.index == index) member = known;
      members.push_back(member);
    }
  }
  return members;
}

std::vector<api::MemberStatus> incarnations_of(const std::vector<api::MemberStatus>& members) {
  std::vector<api::MemberStatus> all;
  for (const auto& member : members) {
    all.push_back(member);
    if (member.successor == 0 || member.is_completed) continue;
    all.push_back({.role = member.role,
                   .index = member.index,
                   .incarnation = member.successor,
                   .uid = member.successor_uid});
  }
  return all;
}

bool sits_for(const ProcessIdentity& process, const api::MemberStatus& member) {
  return process.role == member.role && process.index == member.index &&
         process.incarnation == member.incarnation && process.member_uid == member.uid;
}

bool is_all_heard(const core::Observation& seen, const api::TrainingJobStatus& status) {
  return std::ranges::all_of(status.members, [&](const auto& member) {
    return member.is_absent || member.is_completed ||
           std::ranges::any_of(seen.processes,
                               [&](const auto& process) { return sits_for(process.identity, member); });
  });
}

WallTime end_of_saving(const core::Observation& seen, const api::TrainingJobStatus& status) {
  double save_seconds = 0;
  for (const auto& process : seen.processes)
    if (process.beat) save_seconds = std::max(save_seconds, process.beat->save_seconds.value_or(0));
  const Duration may_save = from_seconds(std::max(60.0, 2 * save_seconds + 10));
  return {status.suspending_since.value_or(WallTime{}).since_epoch + may_save};
}

bool decides(const std::vector<std::string>& roles, const std::string& role) {
  return roles.empty() || holds(roles, role);
}

Bill add_up(const api::TrainingJobSpec& spec, const std::vector<Lost>& lost) {
  Bill bill;
  Said said;
  for (const auto& one : lost) {
    const Toll toll = toll_of(spec, one, said);
    const bool counts = decides(spec.failure_policy.roles, one.role) && !one.is_outside;
    if (toll == Toll::kFree) ++bill.free;
    const bool is_excused =
        is_platform_caused(one) || (is_outage(one) && !spec.restart_policy.is_losses_without_step_max_set);
    if (!one.is_outside && (toll != Toll::kFree || !is_excused)) ++bill.blamed;
    if (toll == Toll::kJob && counts) bill.ends_job = true;
    if (toll == Toll::kHang) ++bill.hung;
    if (toll == Toll::kBudget || toll == Toll::kJob) ++bill.budget;
    if (toll != Toll::kFree && !counts) ++bill.ignored;
  }
  return bill;
}

bool is_record_true(const api::TrainingJobStatus& status, const api::Pod& pod) {
  if (!status.last_checkpoint || !pod.last_checkpoint) return true;
  const ResumePoint& known = *status.last_checkpoint;
  const ResumePoint& said = *pod.last_checkpoint;
  if (said.attempt == known.attempt && said.step == known.step) return said.digest == known.digest;
  // A run that ends makes no step after its end, in no attempt.
  return said.attempt > known.attempt || said.step >= known.step;
}

bool is_known_done(const core::Observation& seen, const api::MemberStatus& member) {
  if (member.is_completed) return true;
  if (member.uid.empty()) return false;
  for (const auto& pod : seen.pods)
    if (pod.uid == member.uid && pod.is_completed && is_record_true(seen.job.status, pod) &&
        (seen.job.spec.processes_per_node == 1 || pod.exit_code == 0))
      return true;
  std::uint32_t done = 0;
  for (const auto& process : seen.processes)
    if (process.is_completed && process.identity.member_uid == member.uid) ++done;
  // Processes that an earlier operator heard count as well, unless a new start took their place.
  for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank) {
    const bool is_heard = std::ranges::any_of(seen.processes, [&](const auto& process) {
      return process.identity.member_uid == member.uid && process.identity.local_rank == local_rank;
    });
    if (!is_heard && member.is_done(local_rank)) ++done;
  }
  return done >= seen.job.spec.processes_per_node;
}

std::set<std::string> pods_to_go(const core::Observation& seen, const api::TrainingJobStatus& status) {
  using Policy = api::CleanPodPolicy;
  const Policy policy = seen.job.spec.clean_pod_policy;
  std::set<std::string> uids;
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting) continue;
    const auto whose = std::find_if(status.members.begin(), status.members.end(),
                                    [&](const auto& member) { return is_process_of(pod, member); });
    const bool is_members = whose != status.members.end();
    const bool ends_by_itself =
        is_members && whose->is_completed && status.phase == api::JobPhase::kSucceeded;
    const bool outlived =
        pod.has_running_sidecars &&
        pod.ended_at.value_or(WallTime{}).since_epoch + kNeighboursHave <= seen.wall_now.since_epoch;
    const bool goes = pod.has_ended() && !outlived ? policy == Policy::kAll
                      : policy == Policy::kNone    ? !is_members
                                                   : outlived || !ends_by_itself;
    if (goes) uids.insert(pod.uid);
  }
  return uids;
}

}  // namespace ratoon::sim
