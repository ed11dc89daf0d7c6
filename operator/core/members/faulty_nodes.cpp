#include "operator/core/members/faulty_nodes.h"

#include <algorithm>

namespace ratoon::core {
namespace {

constexpr Duration kFailureWindow = std::chrono::hours(1);
constexpr std::uint32_t kFailuresOfFaultyNode = 2;

bool is_failure_recent(const api::FailedNode& node, WallTime now) {
  return now.since_epoch - node.time.since_epoch < kFailureWindow;
}

void count_failures_on(const std::string& name, std::uint32_t failures, WallTime now,
                       std::vector<api::FailedNode>& nodes) {
  std::erase_if(nodes, [&](const auto& node) { return !is_failure_recent(node, now); });
  api::FailedNode failed{.name = name, .failures = failures, .time = now};
  // The list `nodes` is in the order of the nodes' last failures; if the list is full, its first node is
  // removed.
  if (const auto known = std::ranges::find(nodes, failed.name, &api::FailedNode::name);
      known != nodes.end()) {
    failed.failures += known->failures;
    nodes.erase(known);
  }
  if (nodes.size() == api::kFailedNodesMax) nodes.erase(nodes.begin());
  nodes.push_back(std::move(failed));
}

}  // namespace

void record_failed_nodes(const Observation& seen, const RosterChange& change,
                         api::TrainingJobStatus& status) {
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return;
  const auto note = [&](const std::string& node, std::uint32_t failures = 1) {
    if (!node.empty()) count_failures_on(node, failures, seen.wall_now, status.failed_nodes);
  };
  const auto& failure = status.last_failure;
  if (failure && failure != seen.job.status.last_failure) note(failure->node);
  for (const auto* losses : {&change.losses, &change.outside_losses})
    for (const auto& loss : *losses) {
      if (loss.is_kubelet_rejection) note(loss.member.node);
      if (loss.is_device_fault) note(loss.member.node, kFailuresOfFaultyNode);
    }
}

std::vector<Action> report_unusable_devices(const Observation& seen, const RosterChange& change) {
  std::vector<Action> news;
  const bool is_avoided = seen.job.spec.disruption_policy.avoid_node_seconds > 0;
  for (const auto* losses : {&change.losses, &change.outside_losses})
    for (const auto& loss : *losses) {
      if (!loss.is_device_fault || loss.member.node.empty()) continue;
      news.emplace_back(
          EmitEvent{.is_warning = true,
                    .reason = "DeviceUnusable",
                    .message = loss.member.node + ": its accelerator is unusable, as " +
                               display_name(seen, loss.member) +
                               (is_avoided ? " reported; members avoid the node" : " reported") +
                               "; see the member's log, and have the device tested"});
    }
  return news;
}

std::vector<std::string> faulty_nodes(const Observation& seen, const api::TrainingJobStatus& status) {
  std::vector<std::string> names;
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return names;
  for (const auto& node : status.failed_nodes)
    if (node.failures >= kFailuresOfFaultyNode && is_failure_recent(node, seen.wall_now))
      names.push_back(node.name);
  return names;
}

}  // namespace ratoon::core
