#include "operator/core/conditions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/contract/names.h"
#include "base/core/counted.h"
#include "base/core/lists.h"
#include "base/core/utf8.h"
#include "operator/core/elastic.h"
#include "operator/core/roster.h"
#include "operator/core/shared_claim.h"

namespace ratoon::core {
namespace {

using api::JobPhase;

// One more reading of the same facts.
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
    if (!reading.is_true) return;  // it never held
    known = all.insert(all.end(), {.type = std::string(reading.type), .since = seen.wall_now});
  } else if (known->is_true != reading.is_true) {
    known->since = seen.wall_now;
  }
  known->is_true = reading.is_true;
  known->reason = reading.reason;
  known->message = std::move(reading.message);
  known->observed_generation = status.observed_generation;
}

// The word for why the job is in its phase; the sentence is the status's own.
std::string_view reason_of(JobPhase phase) {
  switch (phase) {
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

// Not the status's message: it counts who is ready, and each count would be a write to this list too.
std::string describe(const api::TrainingJobStatus& status, bool is_true) {
  if (!is_true) return "";
  const std::string attempt = "attempt " + std::to_string(status.attempt.value());
  if (status.phase == JobPhase::kRunning)
    return attempt + " trains with " + counted(status.world_size, "process", "processes");
  if (status.phase == JobPhase::kRecovering) return attempt + " is waited for";
  return status.message;
}

constexpr std::string_view kScheduled = "Scheduled";
constexpr std::size_t kWhyBytesMax = 1024;

// A job whose first pod finds no node, or is not even made, is told of it all the same.
void set_not_scheduled(const Observation& seen, std::string_view reason, std::string message,
                       api::TrainingJobStatus& status) {
  const bool is_known = std::any_of(status.conditions.begin(), status.conditions.end(),
                                    [&](const auto& c) { return c.type == kScheduled; });
  if (!is_known) status.conditions.push_back({.type = std::string(kScheduled), .since = seen.wall_now});
  set(seen, {.type = kScheduled, .is_true = false, .reason = reason, .message = std::move(message)}, status);
}

// Pods that were just made have no word from the scheduler yet: they change nothing.
void set_scheduled(const Observation& seen, api::TrainingJobStatus& status) {
  if (!seen.refusal.empty())
    return set_not_scheduled(seen, "PodRefused", cut_text(seen.refusal, kWhyBytesMax), status);
  bool is_any_placed = false;
  bool are_all_placed = true;
  for (const auto& pod : seen.pods) {
    if (pod.is_deleting || pod.has_ended() || !is_named(pod, status.members)) continue;
    if (pod.node.empty() && !is_lacked(seen, status.members, pod)) continue;
    if (!pod.unplaced_reason.empty()) {
      const std::string why = cut_text(pod.unplaced_reason, kWhyBytesMax);
      return set_not_scheduled(seen, "Unschedulable", "no node takes " + pod.name + ": " + why, status);
    }
    is_any_placed |= !pod.node.empty();
    are_all_placed &= !pod.node.empty();
  }
  if (is_any_placed && are_all_placed)
    set(seen, {.type = kScheduled, .is_true = true, .reason = "Placed", .message = ""}, status);
}

// Whether a pod of these may be one that the server does not take.
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

// Of the pods that are counted there.
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
  // It follows from the spec, so it goes with a status that is written in any case.
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
         .reason = reason_of(status.phase),
         .message = describe(status, is_true)},
        status);
  }
  if (status.phase != JobPhase::kSuspended) set_scheduled(seen, status);  // else all its pods are to go
  note_validity(seen, status);
}

void note_validity(const Observation& seen, api::TrainingJobStatus& status) {
  // Who is not about to make pods asks for no claim, and for no pod: what was true of them stays so.
  const bool is_waiting = seen.job.spec.is_suspended || api::is_over(status.phase);
  const auto known =
      std::ranges::find(status.conditions, api::condition::kInvalidSpec, &api::Condition::type);
  const std::string_view told = known == status.conditions.end() ? "" : std::string_view(known->reason);
  const bool is_template_told = told == api::condition::kTemplateRefused;
  if (is_waiting && (told == api::condition::kClaimNotShared || is_template_told)) return;
  std::string fault = find_claim_fault(seen);
  std::string_view reason = api::condition::kClaimNotShared;
  if (fault.empty() && seen.is_template_refused) {
    fault = cut_text(seen.refusal, kWhyBytesMax);
    reason = api::condition::kTemplateRefused;
  } else if (fault.empty() && seen.refusal.empty() && is_template_told && lacks_pods(seen, status)) {
    return;  // nobody has asked for them again, or it is not known what came of it
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
