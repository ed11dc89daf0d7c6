#include "operator/core/status/conditions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/contract/names.h"
#include "base/core/counted.h"
#include "base/core/lists.h"
#include "base/core/utf8.h"
#include "operator/core/members/roster.h"
#include "operator/core/members/shared_volume_claim.h"
#include "operator/core/status/why_waiting.h"
#include "operator/core/world/elastic.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

// A condition's value according to this decision, before the value is merged into the status.
struct Reading {
  std::string_view type;
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

void set(const Observation& seen, Reading reading, api::TrainingJobStatus& status) {
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
bool is_at_rest(const Observation& seen, const api::TrainingJobStatus& status) {
  return seen.job.spec.is_suspended && !status.is_formed && !api::is_over(status.phase);
}

// Returns the `reason` for the condition of the job's phase; its message comes from the status.
std::string_view reason_of(const Observation& seen, const api::TrainingJobStatus& status) {
  if (is_at_rest(seen, status) && status.phase != JobPhase::kSuspended) return "Suspending";
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

// Returns the message of a condition. Unlike the status's message, a condition's message does not contain the
// number of ready members, because each new number would cause another write of the list of conditions.
std::string describe(const Observation& seen, const api::TrainingJobStatus& status, bool is_true) {
  if (!is_true) return "";
  if (is_at_rest(seen, status)) return status.message;
  const std::string attempt = "attempt " + std::to_string(status.attempt.value());
  if (status.phase == JobPhase::kRunning)
    return attempt + " trains with " + counted(status.world_size, "process", "processes");
  if (status.phase == JobPhase::kRecovering) return "the job waits for " + attempt;
  return status.message;
}

constexpr std::size_t kWhyBytesMax = 1024;

// Adds the condition Scheduled with value false: a pod finds no node, or was not even created.
void set_not_scheduled(const Observation& seen, std::string_view reason, std::string message,
                       api::TrainingJobStatus& status) {
  const bool is_known = std::any_of(status.conditions.begin(), status.conditions.end(),
                                    [&](const auto& c) { return c.type == api::condition::kScheduled; });
  if (!is_known)
    status.conditions.push_back({.type = std::string(api::condition::kScheduled), .since = seen.wall_now});
  set(seen,
      {.type = api::condition::kScheduled, .is_true = false, .reason = reason, .message = std::move(message)},
      status);
}

// Sets the condition Scheduled. A pod about which the scheduler has not reported yet leaves the condition
// unchanged.
void set_scheduled(const Observation& seen, api::TrainingJobStatus& status) {
  if (!seen.refusal.empty())
    return set_not_scheduled(seen, "PodRefused", cut_text(seen.refusal, kWhyBytesMax), status);
  bool is_any_placed = false;
  bool are_all_placed = true;
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting || pod.has_ended() || !is_in_roster(pod, status.members)) continue;
    if (pod.node.empty() && !is_pod_needed(seen, status.members, pod)) continue;
    if (!pod.unplaced_reason.empty()) {
      const std::string why = cut_text(pod.unplaced_reason, kWhyBytesMax);
      return set_not_scheduled(seen, "Unschedulable", "no node takes " + pod.name + ": " + why, status);
    }
    if (const std::string why = why_not_judged(seen, pod); !why.empty())
      return set_not_scheduled(seen, "NoScheduler", why, status);
    is_any_placed |= !pod.node.empty();
    are_all_placed &= !pod.node.empty();
  }
  if (is_any_placed && are_all_placed)
    set(seen, {.type = api::condition::kScheduled, .is_true = true, .reason = "Placed", .message = ""},
        status);
}

// Returns whether a member has no pod yet, so that the API server may still refuse to create it.
bool lacks_pods(const Observation& seen, const api::TrainingJobStatus& status) {
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
std::string select_replicas(const api::TrainingJob& job) {
  std::vector<std::string> roles;
  for (const auto& role : job.spec.roles)
    if (!role.replicas) roles.push_back(role.name);
  if (job.meta.uid.empty() || roles.empty()) return {};
  return std::string(names::label::kJobUid) + "=" + job.meta.uid + "," + std::string(names::label::kRole) +
         " in (" + join(roles, ",") + ")";
}

}  // namespace

void note_conditions(const Observation& seen, api::TrainingJobStatus& status) {
  // The selector depends only on the spec, so it is set only when a new spec causes a write of the status
  // anyway.
  if (seen.job.status.observed_generation != seen.job.meta.generation)
    status.selector = select_replicas(seen.job);
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
    set(seen,
        {.type = named.type,
         .is_true = is_true,
         .reason = reason_of(seen, status),
         .message = describe(seen, status, is_true)},
        status);
  }
  // A suspended job has no pods, so its condition Scheduled does not change.
  if (!is_at_rest(seen, status)) set_scheduled(seen, status);
  note_validity(seen, status);
}

void note_validity(const Observation& seen, api::TrainingJobStatus& status) {
  // While a job creates no pods, its claim and template are not checked, and the last condition stays.
  const bool is_waiting = seen.job.spec.is_suspended || api::is_over(status.phase);
  const auto known =
      std::ranges::find(status.conditions, api::condition::kInvalidSpec, &api::Condition::type);
  const std::string_view told = known == status.conditions.end() ? "" : std::string_view(known->reason);
  const bool is_template_told = told == api::condition::kTemplateRefused;
  if (is_waiting && (told == api::condition::kClaimNotShared || is_template_told)) return;
  std::string fault = find_volume_claim_fault(seen);
  std::string_view reason = api::condition::kClaimNotShared;
  if (fault.empty() && seen.is_template_refused) {
    fault = cut_text(seen.refusal, kWhyBytesMax);
    reason = api::condition::kTemplateRefused;
  } else if (fault.empty() && seen.refusal.empty() && is_template_told && lacks_pods(seen, status)) {
    return;  // the pods were not requested again, or the result is not known yet
  }
  const bool is_true = !fault.empty();
  set(seen,
      {.type = api::condition::kInvalidSpec,
       .is_true = is_true,
       .reason = is_true ? reason : "Mended",
       .message = std::move(fault)},
      status);
}

}  // namespace ratoon::core
