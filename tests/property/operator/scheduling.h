// A scheduler's reading of the nodes that a pod has to avoid.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "operator/api/node.h"
#include "operator/api/pod.h"

namespace ratoon::sim {

// Whether anti-affinity to one of these pods keeps the new pod off the node.
[[nodiscard]] inline bool is_kept_off(const std::vector<api::NodeToAvoid>& avoided, const std::string& node,
                                      const std::vector<api::Pod>& pods) {
  return std::ranges::any_of(pods, [&](const api::Pod& pod) {
    if (pod.node != node || (pod.has_ended() && !pod.has_running_sidecars)) return false;
    const api::MemberPodKey key{.role = pod.role, .index = pod.index, .incarnation = pod.incarnation};
    return std::ranges::any_of(avoided, [&](const api::NodeToAvoid& avoid) {
      return avoid.scheduler_avoided_taints.empty() && std::ranges::find(avoid.pods, key) != avoid.pods.end();
    });
  });
}

// Whether the new pod goes there only if no other node takes it.
[[nodiscard]] inline bool is_disliked(const std::vector<api::NodeToAvoid>& avoided, const std::string& node) {
  return std::ranges::any_of(avoided, [&](const api::NodeToAvoid& avoid) {
    return avoid.name == node && avoid.scheduler_avoided_taints.empty() && avoid.pods.empty();
  });
}

[[nodiscard]] inline bool is_open(const std::vector<api::NodeToAvoid>& avoided, const std::string& node,
                                  const std::vector<api::Pod>& pods) {
  return !is_kept_off(avoided, node, pods) && !is_disliked(avoided, node);
}

// The nodes that the pod's affinity excludes.
[[nodiscard]] inline std::vector<std::string> excluded_nodes(const std::vector<api::NodeToAvoid>& avoided) {
  std::vector<std::string> names;
  for (const auto& avoid : avoided)
    if (avoid.scheduler_avoided_taints.empty() && !avoid.pods.empty()) names.push_back(avoid.name);
  return names;
}

}  // namespace ratoon::sim
