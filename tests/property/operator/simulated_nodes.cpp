// Nodes: they take pods, leave as announced, die unannounced, come back.
#include <algorithm>
#include <chrono>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

void World::add_node() {
  SimNode made;
  made.node.name = "node-" + std::to_string(++made_nodes_);
  if (scenario_.policies.zones > 0)
    made.node.zone = "zone-" + std::to_string(made_nodes_ % scenario_.policies.zones);
  nodes_.emplace(made.node.name, made);
}

bool World::is_on_dead_node(const SimPod& pod) const {
  const auto node = nodes_.find(pod.pod.node);
  return node != nodes_.end() && node->second.is_dead;
}

void World::place(SimPod& pod) {
  std::vector<std::string> fitting;
  for (const auto& [name, entry] : nodes_) {
    const bool is_avoided =
        std::find(pod.avoid_nodes.begin(), pod.avoid_nodes.end(), name) != pod.avoid_nodes.end();
    if (entry.takes_pods() && !is_avoided) fitting.push_back(name);
  }
  if (!fitting.empty()) {
    pod.pod.node = fitting[moves_.below("place", pod.pod.name, fitting.size())];
    pod.pod.unplaced_reason.clear();
    pod.runs_at = now_ + moves_.ticks("pulls-for", 0, 6);
  } else if (!moves_.percent("no-node-yet", 80)) {
    add_node();  // a pod that nobody takes makes the cluster grow
  } else if (scenario_.policies.tells_avoided_nodes) {
    pod.pod.unplaced_reason = "0 nodes are available";
  }
}

// All that runs on it ends, and the API server knows nothing: its pods stay Running.
void World::kill_node(SimNode& node) {
  node.is_dead = true;
  node.known_at = now_ + moves_.ticks("known-after", 20, 80);
  node.fate_at = now_ + moves_.ticks("fate-after", 1, 160);
  node.comes_back = moves_.percent("comes-back", 50);
  if (!node.comes_back) node.fate_at = std::max(node.fate_at, node.known_at + kTick);
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.node == node.node.name) end_processes(uid);
  storage_.stop_copies();
}

// It was started again: its containers are not.
void World::return_node(SimNode& node) {
  node.is_dead = node.is_known_dead = false;
  node.dies_at.reset();
  node.node.taints.clear();
  if (!node.node.is_unschedulable && !node.node.is_deleting) node.notice.reset();
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.node == node.node.name && entry.pod.phase == api::PodPhase::kRunning) end_pod(uid, 137);
}

void World::move_nodes(bool is_chaos) {
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const std::string& name = it->first;
    SimNode& node = it->second;
    const auto is_here = [&](const auto& item) { return item.second.pod.node == name; };
    const bool is_empty = std::none_of(pods_.begin(), pods_.end(), is_here);
    if (node.retracted_at && now_ >= *node.retracted_at) {
      node.node.taints.clear();
      node.node.is_unschedulable = false;
      node.notice.reset();
      node.retracted_at.reset();
      node.dies_at.reset();
    }
    if (node.dies_at && now_ >= *node.dies_at && !node.is_dead) {
      if (!scenario_.has_losses && is_empty) {
        it = nodes_.erase(it);
        continue;
      }
      if (scenario_.has_losses && is_chaos) kill_node(node);
    }
    if (node.is_dead && now_ >= node.fate_at) {
      if (!node.comes_back) {
        std::erase_if(pods_, is_here);
        storage_.lose_node(name);
        it = nodes_.erase(it);
        continue;
      }
      return_node(node);
    }
    if (node.is_dead && !node.is_known_dead && now_ >= node.known_at) {
      node.is_known_dead = true;
      std::erase_if(pods_, [&](const auto& item) {
        return is_here(item) && !item.second.pod.is_deleting && goes_at_once(item.second);
      });
      for (auto& [uid, entry] : pods_)
        if (entry.pod.node == name && !entry.pod.is_deleting) {  // and stays so until the node's fate
          entry.pod.is_deleting = true;
          entry.pod.ends_at =
              WallTime{wall_now().since_epoch + std::chrono::seconds(scenario_.policies.grace_seconds)};
        }
    }
    ++it;
  }
}

}  // namespace ratoon::sim
