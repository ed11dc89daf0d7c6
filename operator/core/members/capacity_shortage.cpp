#include "operator/core/members/capacity_shortage.h"

#include <algorithm>
#include <cstdint>

#include "base/core/utf8.h"
#include "operator/core/members/roster.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

constexpr std::size_t kReasonBytesMax = 300;

// Returns the smallest number of members of the role with which the next world can be formed.
std::uint32_t count_needed_members(const api::TrainingJobSpec& spec, const api::Role& role) {
  if (role.replicas) return *role.replicas;
  return spec.elastic_policy ? spec.elastic_policy->members_min : spec.num_nodes;
}

// Returns whether the member's pod has a node. A member that sends messages has a node: if its pod in the
// observation has none, the observation is outdated.
bool has_node(const Observation& seen, const api::MemberStatus& member) {
  const api::Pod* pod = find_pod(seen, member);
  if (pod == nullptr || pod->has_ended() || pod->is_deleting) return false;
  return !pod->node.empty() || std::ranges::any_of(processes_of(seen, member), [&](const auto* process) {
    return is_process_of(process->identity, member);
  });
}

// Returns why the member has no node, or an empty text if the reason is not known.
std::string unplaced_reason_of(const Observation& seen, const api::MemberStatus& member) {
  if (const api::Pod* pod = find_pod(seen, member)) {
    if (pod->unplaced_reason.empty() || pod->is_deleting || pod->has_ended()) return "";
    return "no node takes " + pod->name + ": " + cut_text(pod->unplaced_reason, kReasonBytesMax);
  }
  // A refused template is a fault of the job, not a lack of nodes. During a pause, a member requests no pod.
  const bool is_refused = !seen.refusal.empty() && !seen.is_template_refused && member.uid.empty() &&
                          (!member.next_pod_not_before || *member.next_pod_not_before <= seen.wall_now);
  return is_refused ? display_name(seen, member) + " is refused: " + cut_text(seen.refusal, kReasonBytesMax)
                    : "";
}

}  // namespace

CapacityShortage find_capacity_shortage(const Observation& seen,
                                        const std::vector<api::MemberStatus>& members) {
  CapacityShortage shortage{.is_over = true};
  for (const auto& role : seen.job.spec.roles) {
    std::size_t ready = 0;
    std::string why;
    for (const auto& member : members) {
      if (member.role != role.name) continue;
      const bool holds = !member.is_completed && has_node(seen, member);
      if (holds) ++shortage.members_with_nodes;
      if (holds || member.is_completed)
        ++ready;
      else if (why.empty())
        why = unplaced_reason_of(seen, member);
    }
    if (ready >= count_needed_members(seen.job.spec, role)) continue;
    shortage.is_over = false;
    if (shortage.reason.empty()) shortage.reason = std::move(why);
  }
  return shortage;
}

}  // namespace ratoon::core
