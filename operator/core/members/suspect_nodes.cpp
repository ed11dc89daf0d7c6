#include "operator/core/members/suspect_nodes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "operator/core/members/notice.h"

namespace ratoon::core {
namespace {

// Returns whether the node has sent a heartbeat since it became a suspect. A heartbeat shortly after that
// time does not count, because a node may send it just before its end, or its clock may be ahead.
bool has_heartbeat_since_suspicion(const Observation& seen, const api::SuspectNode& suspect) {
  if (suspect.is_unreachable) return false;  // it was alive: other nodes could not connect to it
  const Duration since = suspected_since(seen, suspect).since_epoch;
  const Duration margin = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  return std::any_of(seen.nodes.begin(), seen.nodes.end(), [&](const api::Node& node) {
    return node.name == suspect.name && node.is_ready && node.last_heartbeat.since_epoch > since + margin;
  });
}

// Returns whether affinity rules still count this pod on its node: the scheduler ignores pods that have
// ended.
bool occupies_its_node(const api::Pod& pod) {
  return !pod.has_ended() || pod.has_running_sidecars;
}

std::vector<api::Taint> no_schedule_taints(const api::Node& node) {
  constexpr const char* kCordon = "node.kubernetes.io/unschedulable";
  std::vector<api::Taint> taints;
  for (const auto& taint : node.taints)
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute") taints.push_back(taint);
  if (node.is_unschedulable && std::ranges::find(taints, kCordon, &api::Taint::key) == taints.end())
    taints.push_back({.key = kCordon, .effect = "NoSchedule"});
  return taints;
}

}  // namespace

WallTime suspected_since(const Observation& seen, const api::SuspectNode& suspect) {
  const Duration pause = std::chrono::seconds(seen.job.spec.disruption_policy.avoid_node_seconds);
  return {suspect.until.since_epoch - pause};
}

std::vector<api::SuspectNode> update_suspects(const Observation& seen, const std::vector<Loss>& losses) {
  std::vector<api::SuspectNode> suspects = seen.job.status.suspect_nodes;
  const Duration pause = std::chrono::seconds(seen.job.spec.disruption_policy.avoid_node_seconds);
  std::erase_if(suspects, [&](const auto& suspect) {
    return suspect.until <= seen.wall_now || has_heartbeat_since_suspicion(seen, suspect);
  });
  for (const auto& loss : losses) {
    // Only silence and lost connections make a node suspect; failed programs and deleted pods do not.
    const bool is_of_node = loss.is_silent || loss.is_unreachable;
    if (!is_of_node || loss.member.node.empty() || pause.count() == 0) continue;
    api::SuspectNode suspect{.name = loss.member.node, .reason = loss.reason, .until = {}};
    suspect.is_unreachable = loss.is_unreachable;
    const auto known = std::ranges::find(suspects, loss.member.node, &api::SuspectNode::name);
    if (known != suspects.end()) {
      // If a member falls silent on an unreachable node, the node stays marked as unreachable.
      if (known->is_unreachable && !loss.is_unreachable) suspect = std::move(*known);
      suspects.erase(known);
    }
    suspect.until = WallTime{seen.wall_now.since_epoch + pause};
    suspects.push_back(std::move(suspect));
  }
  if (suspects.size() > api::kSuspectNodesMax)
    suspects.erase(suspects.begin(), suspects.end() - static_cast<std::ptrdiff_t>(api::kSuspectNodesMax));
  return suspects;
}

bool is_without_connections(const Observation& seen, const std::string& node) {
  return std::ranges::any_of(seen.job.status.suspect_nodes, [&](const auto& suspect) {
    return suspect.is_unreachable && suspect.name == node && suspect.until > seen.wall_now;
  });
}

std::optional<WallTime> next_suspicion_end(const std::vector<api::SuspectNode>& suspects) {
  std::optional<WallTime> next;
  for (const auto& suspect : suspects) next = std::min(suspect.until, next.value_or(suspect.until));
  return next;
}

std::vector<api::NodeToAvoid> nodes_to_avoid(const Observation& seen,
                                             const std::vector<api::SuspectNode>& suspects) {
  std::map<std::string, api::NodeToAvoid> found;
  for (const auto& node : seen.nodes)
    if (find_notice(seen, node))
      found[node.name] = {.name = node.name, .scheduler_avoided_taints = no_schedule_taints(node)};
  // Avoid all suspects: Kubernetes taints dead nodes late, and nodes with broken connections not at all.
  for (const auto& suspect : suspects) found[suspect.name] = {.name = suspect.name};
  std::vector<api::NodeToAvoid> nodes;
  for (auto& [name, node] : found) {
    for (const auto& pod : seen.pods)
      if (pod.node == name && occupies_its_node(pod))
        node.pods.push_back({.role = pod.role, .index = pod.index, .incarnation = pod.incarnation});
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void recreate_unplaced(const Observation& seen, const std::vector<api::NodeToAvoid>& avoid_nodes,
                       std::vector<api::MemberStatus>& members) {
  const auto is_outdated = [&](const api::MemberStatus& member) {
    const api::Pod* pod = find_pod(seen, member);
    if (pod == nullptr || !pod->node.empty() || pod->has_ended() || pod->is_deleting) return false;
    // If a member sends messages, its pod runs on a node, so the cached pod without a node is outdated.
    const bool has_sent_message =
        std::any_of(seen.processes.begin(), seen.processes.end(),
                    [&](const auto& process) { return is_process_of(process.identity, member); });
    if (has_sent_message) return false;
    return std::any_of(pod->avoided_nodes.begin(), pod->avoided_nodes.end(), [&](const auto& node) {
      return std::ranges::find(avoid_nodes, node, &api::NodeToAvoid::name) == avoid_nodes.end();
    });
  };
  for (auto& member : members) {
    if (member.is_leaving() && is_outdated(successor_of(member))) {
      ++member.successor;
      member.successor_uid.clear();
    } else if (!member.is_leaving() && is_outdated(member)) {
      member = next_incarnation(member);
    }
  }
}

}  // namespace ratoon::core
