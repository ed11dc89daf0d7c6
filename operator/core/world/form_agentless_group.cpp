#include "operator/core/world/form_agentless_group.h"

#include <algorithm>
#include <string>

#include "base/core/count_with_noun.h"
#include "operator/core/members/roster.h"
#include "operator/core/status/waiting_reason.h"

namespace ratoon::core {
namespace {

bool is_member_running(const Observation& seen, const api::MemberStatus& member) {
  if (member.is_completed) return true;  // a short program may end before the last one starts
  const api::Pod* pod = find_pod(seen, member);
  return pod != nullptr && !member.uid.empty() && pod->phase == api::PodPhase::kRunning && !pod->is_deleting;
}

}  // namespace

void form_group(const Observation& seen, Decision& decision) {
  auto& status = decision.status;
  const auto running =
      std::ranges::count_if(status.members, [&](const auto& m) { return is_member_running(seen, m); });
  const std::string attempt = "attempt " + std::to_string(status.attempt.value());
  if (running < std::ssize(status.members)) {
    status.phase = status.attempt.value() <= 1 ? api::JobPhase::kPending : api::JobPhase::kRecovering;
    status.message = std::to_string(running) + " of " + std::to_string(status.members.size()) +
                     " members run for " + attempt + waiting_reason(seen, status);
    return;
  }
  status.phase = api::JobPhase::kRunning;
  status.is_world_formed = true;
  status.world_formed_at = seen.wall_now;
  status.world_awaited_since.reset();
  status.world_size = static_cast<std::uint32_t>(status.members.size()) * seen.job.spec.processes_per_node;
  status.message = attempt + " runs with " + count_with_noun(status.world_size, "process", "processes") +
                   " without the agent";
  decision.actions.push_back(
      EmitEvent{.is_warning = false, .reason = "WorldFormed", .message = status.message});
}

}  // namespace ratoon::core
