#include "operator/core/status/conditions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/contract/names.h"
#include "base/core/count_with_noun.h"
#include "base/core/split_join.h"
#include "base/core/utf8.h"
#include "operator/core/members/roster.h"
#include "operator/core/members/shared_volume_claim.h"
#include "operator/core/status/waiting_reason.h"
#include "operator/core/world/elastic.h"
#include "operator/core/world/release_nodes.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

constexpr std::size_t kReasonBytesMax = 1024;
constexpr std::string_view kNodesReleased = "NodesReleased";

// The new value of a condition. set_condition() writes the value into the status.
struct ConditionValue {
  std::string_view type;
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

void set_condition(const Observation& seen, ConditionValue reading, api::TrainingJobStatus& status) {
  auto& all = status.conditions;
  auto known = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.type == reading.type; });
  if (known == all.end()) {
    if (!reading.is_true) return;  // it was never true
    known = all.insert(all.end(), {.type = std::string(reading.type), .since = seen.wall_now});
  } else if (known->is_true != reading.is_true) {
    known->since = seen.wall_now;
  }
  known->is_true = reading.is_true;
  known->reason = reading.reason;
  known->message = std::move(reading.message);
  known->observed_generation = status.observed_generation;
}

// Returns whether the job has no world because it is suspended or about to be suspended.
bool is_suspended_without_world(const Observation& seen, const api::TrainingJobStatus& status) {
  return seen.job.spec.is_suspended && !status.is_world_formed && !api::is_over(status.phase);
}

// Returns the `reason` for the condition of the job's phase; the condition's message comes from the status.
std::string_view condition_reason(const Observation& seen, const api::TrainingJobStatus& status) {
  if (is_suspended_without_world(seen, status) && status.phase != JobPhase::kSuspended) return "Suspending";
  if (is_released(status)) return kNodesReleased;
  switch (status.phase) {
    case JobPhase::kPending:
      return "Starting";
    case JobPhase::kRunning:
      return "WorldFormed";
    case JobPhase::kRecovering:
      return "MembersMissing";
    case JobPhase::kSuspended:
      return "Suspended";
    case JobPhase::kSucceeded:
      return "Completed";
    case JobPhase::kFailed:
      break;
  }
  return "Failed";
}

// Returns the message of a condition. Unlike the status's message, a condition's message omits the number of
// ready members, because each change of the number would write the list of conditions again.
std::string condition_message(const Observation& seen, const api::TrainingJobStatus& status, bool is_true) {
  if (!is_true) return "";
  if (is_suspended_without_world(seen, status) || is_released(status)) return status.message;
  const std::string attempt = "attempt " + std::to_string(status.attempt.value());
  if (status.phase == JobPhase::kRunning)
    return attempt + " trains with " + count_with_noun(status.world_size, "process", "processes");
  if (status.phase == JobPhase::kRecovering) return "the job waits for " + attempt;
  return status.message;
}

// Adds the condition Scheduled with value false, because a pod finds no node, or was not created.
void set_not_scheduled(const Observation& seen, std::string_view reason, std::string message,
                       api::TrainingJobStatus& status) {
  const bool is_known = std::any_of(status.conditions.begin(), status.conditions.end(),
                                    [&](const auto& c) { return c.type == api::condition::kScheduled; });
  if (!is_known)
    status.conditions.push_back({.type = std::string(api::condition::kScheduled), .since = seen.wall_now});
  set_condition(
      seen,
      {.type = api::condition::kScheduled, .is_true = false, .reason = reason, .message = std::move(message)},
      status);
}

// Returns whether the refused pods are only those of members that an elastic job can train without.
bool are_only_extra_pods_refused(const Observation& seen, const api::TrainingJobStatus& status) {
  if (seen.is_template_refused) return false;
  bool is_any_missing = false;
  for (const auto& member : status.members) {
    if (member.is_leaving() && member.successor_uid.empty()) return false;
    if (member.is_completed || !member.uid.empty() || find_pod(seen, member) != nullptr) continue;
    is_any_missing = true;
    if (is_pod_needed(seen, status.members,
                      {.role = member.role, .index = member.index, .incarnation = member.incarnation}))
      return false;
  }
  return is_any_missing;
}

// Sets the condition Scheduled. A pod about which the scheduler has not reported yet does not change the
// condition Scheduled.
void set_scheduled(const Observation& seen, api::TrainingJobStatus& status) {
  if (is_released(status))
    return set_not_scheduled(seen, kNodesReleased, cut_text(status.message, kReasonBytesMax), status);
  if (!seen.refusal.empty() && !are_only_extra_pods_refused(seen, status))
    return set_not_scheduled(seen, "PodRefused", cut_text(seen.refusal, kReasonBytesMax), status);
  bool is_any_placed = false;
  bool are_all_placed = true;
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting || pod.has_ended() || !is_in_roster(pod, status.members)) continue;
    if (pod.node.empty() && !is_pod_needed(seen, status.members, pod)) continue;
    if (!pod.unplaced_reason.empty()) {
      const std::string why = cut_text(pod.unplaced_reason, kReasonBytesMax);
      return set_not_scheduled(seen, "Unschedulable", "no node takes " + pod.name + ": " + why, status);
    }
    if (const std::string why = describe_scheduler_silence(seen, pod); !why.empty())
      return set_not_scheduled(seen, "NoScheduler", why, status);
    is_any_placed |= !pod.node.empty();
    are_all_placed &= !pod.node.empty();
  }
  if (is_any_placed && are_all_placed)
    set_condition(seen,
                  {.type = api::condition::kScheduled, .is_true = true, .reason = "Placed", .message = ""},
                  status);
}

// Returns whether a member has no pod yet. The API server may still refuse such a pod.
bool is_any_pod_missing(const Observation& seen, const api::TrainingJobStatus& status) {
  return std::ranges::any_of(status.members, [&](const api::MemberStatus& member) {
    return !member.is_completed && member.uid.empty() && find_pod(seen, member) == nullptr;
  });
}

std::uint32_t count_replicas(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  const auto& roles = seen.job.spec.roles;
  return static_cast<std::uint32_t>(std::count_if(members.begin(), members.end(), [&](const auto& member) {
    return !member.uid.empty() && std::any_of(roles.begin(), roles.end(), [&](const api::Role& role) {
      return role.name == member.role && !role.replicas;
    });
  }));
}

// Returns the label selector for the pods that count_replicas() counts (scale subresource).
std::string replica_selector(const api::TrainingJob& job) {
  std::vector<std::string> roles;
  for (const auto& role : job.spec.roles)
    if (!role.replicas) roles.push_back(role.name);
  if (job.meta.uid.empty() || roles.empty()) return {};
  return std::string(names::label::kJobUid) + "=" + job.meta.uid + "," + std::string(names::label::kRole) +
         " in (" + join(roles, ",") + ")";
}

}  // namespace

void update_conditions(const Observation& seen, api::TrainingJobStatus& status) {
  // The selector depends only on the spec, so it is set only when a new spec causes a write of the
  // status.
  if (seen.job.status.observed_generation != seen.job.meta.generation)
    status.pod_selector = replica_selector(seen.job);
  status.observed_generation = seen.job.meta.generation;
  status.replicas = count_replicas(seen, status.members);
  struct Named {
    std::string_view type;
    JobPhase phase;
  };
  constexpr Named kNamed[] = {{"Running", JobPhase::kRunning},
                              {"Recovering", JobPhase::kRecovering},
                              {"Suspended", JobPhase::kSuspended},
                              {"Succeeded", JobPhase::kSucceeded},
                              {"Failed", JobPhase::kFailed}};
  for (const auto& named : kNamed) {
    const bool is_true = status.phase == named.phase;
    set_condition(seen,
                  {.type = named.type,
                   .is_true = is_true,
                   .reason = condition_reason(seen, status),
                   .message = condition_message(seen, status, is_true)},
                  status);
  }
  // A suspended job has no pods, so its condition Scheduled does not change.
  if (!is_suspended_without_world(seen, status)) set_scheduled(seen, status);
  set_invalid_spec_condition(seen, status);
}

void set_invalid_spec_condition(const Observation& seen, api::TrainingJobStatus& status) {
  // While a job creates no pods, its claim and template are not checked, and the last condition remains.
  const bool is_waiting = seen.job.spec.is_suspended || api::is_over(status.phase);
  const auto known =
      std::ranges::find(status.conditions, api::condition::kInvalidSpec, &api::Condition::type);
  const std::string_view told = known == status.conditions.end() ? "" : std::string_view(known->reason);
  const bool is_template_told = told == api::condition::kTemplateRefused;
  if (is_waiting && (told == api::condition::kVolumeClaimNotShared || is_template_told)) return;
  std::string fault = find_volume_claim_fault(seen);
  std::string_view reason = api::condition::kVolumeClaimNotShared;
  if (fault.empty() && seen.is_template_refused) {
    fault = cut_text(seen.refusal, kReasonBytesMax);
    reason = api::condition::kTemplateRefused;
  } else if (fault.empty() && seen.refusal.empty() && is_template_told && is_any_pod_missing(seen, status)) {
    return;  // the pods were not requested again, or the result is not known yet
  }
  const bool is_true = !fault.empty();
  set_condition(seen,
                {.type = api::condition::kInvalidSpec,
                 .is_true = is_true,
                 .reason = is_true ? reason : "Mended",
                 .message = std::move(fault)},
                status);
}

}  // namespace ratoon::core
