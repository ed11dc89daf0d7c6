#include "operator/core/sick_nodes.h"

#include <algorithm>

namespace ratoon::core {
namespace {

constexpr Duration kRemembered = std::chrono::hours(1);
constexpr std::uint32_t kFailuresOfASickNode = 2;

bool is_remembered(const api::FailedNode& node, WallTime now) {
  return now.since_epoch - node.time.since_epoch < kRemembered;
}

void count_failure_on(const std::string& name, WallTime now, std::vector<api::FailedNode>& nodes) {
  std::erase_if(nodes, [&](const auto& node) { return !is_remembered(node, now); });
  api::FailedNode failed{.name = name, .failures = 1, .time = now};
  // The one that failed last stands last: the first goes where there is no room.
  if (const auto known = std::ranges::find(nodes, failed.name, &api::FailedNode::name);
      known != nodes.end()) {
    failed.failures += known->failures;
    nodes.erase(known);
  }
  if (nodes.size() == api::kFailedNodesMax) nodes.erase(nodes.begin());
  nodes.push_back(std::move(failed));
}

}  // namespace

void note_failed_nodes(const Observation& seen, const RosterChange& change, api::TrainingJobStatus& status) {
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return;
  const auto note = [&](const std::string& node) {
    if (!node.empty()) count_failure_on(node, seen.wall_now, status.failed_nodes);
  };
  const auto& failure = status.last_failure;
  if (failure && failure != seen.job.status.last_failure) note(failure->node);
  for (const auto* losses : {&change.losses, &change.outside_losses})
    for (const auto& loss : *losses)
      if (loss.is_rejection) note(loss.member.node);
}

std::vector<std::string> sick_nodes(const Observation& seen, const api::TrainingJobStatus& status) {
  std::vector<std::string> names;
  if (seen.job.spec.disruption_policy.avoid_node_seconds == 0) return names;
  for (const auto& node : status.failed_nodes)
    if (node.failures >= kFailuresOfASickNode && is_remembered(node, seen.wall_now))
      names.push_back(node.name);
  return names;
}

}  // namespace ratoon::core
