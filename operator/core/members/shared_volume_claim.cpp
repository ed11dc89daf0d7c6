#include "operator/core/members/shared_volume_claim.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <variant>

#include "base/core/split_join.h"

namespace ratoon::core {
namespace {

std::uint64_t count_members_max(const api::TrainingJobSpec& spec) {
  std::uint64_t count = 0;
  for (const auto& role : spec.roles) count += api::members_max_of(spec, role);
  return count;
}

// Returns whether `status` already has the condition that the claim cannot be shared.
bool has_claim_condition(const api::TrainingJobStatus& status) {
  return std::ranges::any_of(status.conditions, [](const api::Condition& c) {
    return c.type == api::condition::kInvalidSpec && c.reason == api::condition::kVolumeClaimNotShared &&
           c.is_true;
  });
}

}  // namespace

bool needs_volume_claim(const Observation& seen) {
  const auto& [spec, status] = std::tie(seen.job.spec, seen.job.status);
  // If the job had a world before, the volume claim works: members could share the claim, or all of them were
  // on one node.
  const bool is_from_nothing = seen.pods.empty() && !status.is_world_formed && status.attempt <= Attempt(1) &&
                               status.step == Step(0) && !status.last_checkpoint;
  return is_from_nothing && !api::is_over(status.phase) && !spec.is_suspended &&
         !spec.checkpoint_policy.volume_claim_name.empty() && count_members_max(spec) > 1;
}

std::string find_volume_claim_fault(const Observation& seen) {
  if (!seen.volume_claim || !needs_volume_claim(seen)) return {};
  const auto& modes = seen.volume_claim->access_modes;
  if (std::ranges::find(modes, "ReadWriteMany") != modes.end()) return {};
  return "up to " + std::to_string(count_members_max(seen.job.spec)) + " members are to share the claim " +
         seen.job.spec.checkpoint_policy.volume_claim_name + ", whose access modes are " +
         (modes.empty() ? "none" : join(modes, ", ")) +
         ": no pods are made until the claim is replaced by a claim with ReadWriteMany, or the job by a job "
         "that names another claim or has one member";
}

void withhold_pod_creation(const Observation& seen, Decision& decision) {
  const std::string fault = find_volume_claim_fault(seen);
  if (fault.empty() || api::is_over(decision.status.phase)) return;
  std::erase_if(decision.actions,
                [](const Action& action) { return std::holds_alternative<CreatePod>(action); });
  decision.status.message = fault;
  if (!has_claim_condition(seen.job.status))
    decision.actions.emplace_back(
        EmitEvent{.is_warning = true, .reason = std::string(api::condition::kInvalidSpec), .message = fault});
}

}  // namespace ratoon::core
