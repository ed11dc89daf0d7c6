// Nodes: they take pods, leave as announced, die unannounced, come back.
#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/property/operator/scheduling.h"
#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

void World::add_node() {
  SimNode made;
  made.node.name = scenario_.names_nodes + std::to_string(++made_nodes_);
  if (scenario_.policies.zones > 0)
    made.node.zone = "zone-" + std::to_string(made_nodes_ % scenario_.policies.zones);
  nodes_.emplace(made.node.name, made);
}

bool World::is_on_dead_node(const SimPod& pod) const {
  const auto node = nodes_.find(pod.pod.node);
  return node != nodes_.end() && node->second.is_dead;
}

bool World::has_room(const std::string& node) const {
  if (scenario_.policies.places_per_node == 0) return true;
  const auto others = pods_of_others_.find(node);
  const auto own = std::ranges::count_if(pods_, [&](const auto& item) {
    const api::Pod& pod = item.second.pod;
    return pod.node == node && (!pod.has_ended() || pod.has_running_sidecars);
  });
  return static_cast<std::size_t>(own) + (others == pods_of_others_.end() ? 0 : others->second) <
         scenario_.policies.places_per_node;
}

void World::place(SimPod& pod, bool is_chaos) {
  std::vector<std::string> fitting;
  std::vector<std::string> disliked;
  for (const auto& [name, entry] : nodes_) {
    if (!entry.takes_pods() || !has_room(name) || is_kept_off(pod.avoid_nodes, name, pods())) continue;
    (is_disliked(pod.avoid_nodes, name) ? disliked : fitting).push_back(name);
  }
  if (fitting.empty()) fitting = disliked;
  const bool is_scarce =
      is_chaos && scenario_.policies.places_per_node > 0 && nodes_.size() >= scenario_.nodes;
  const bool may_grow = !is_scarce && !scenario_.policies.has_fixed_nodes;
  if (!fitting.empty()) {
    pod.pod.node = fitting[moves_.below("place", pod.pod.name, fitting.size())];
    pod.pod.unplaced_reason.clear();
    pod.runs_at = now_ + moves_.ticks("pulls-for", 0, 6);
  } else if (may_grow && !moves_.percent("no-node-yet", 80)) {
    // A pod that no node takes makes the cluster grow.
    if (scenario_.follows_nodes)
      wants_node_ = true;
    else
      add_node();
  } else if (scenario_.policies.tells_avoided_nodes) {
    pod.pod.unplaced_reason = "0 nodes are available";
  }
}

// All processes on the node end, and the API server does not know: its pods stay Running.
void World::kill_node(SimNode& node) {
  node.is_dead = true;
  node.known_at = now_ + moves_.ticks("known-after", 20, 80);
  node.fate_at = now_ + moves_.ticks("fate-after", 1, 160);
  node.comes_back = moves_.percent("comes-back", 50);
  if (!node.comes_back) node.fate_at = std::max(node.fate_at, node.known_at + kTick);
  end_all_on(node.node.name);
}

void World::end_all_on(const std::string& node) {
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.node == node) end_processes(uid);
  storage_.stop_copies();
}

// The node was started again, but its containers were not.
void World::return_node(SimNode& node) {
  node.is_dead = node.is_known_dead = false;
  node.dies_at.reset();
  node.node.taints.clear();
  if (!node.node.is_unschedulable && !node.node.is_deleting) node.notice.reset();
  restart_all_on(node.node.name);
}

void World::restart_all_on(const std::string& node) {
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.node == node && entry.pod.phase == api::PodPhase::kRunning) end_pod(uid, 137);
}

// The platform gives the node up: its pods go, held pods once the node does.
void World::take_pods_from(const std::string& node) {
  std::erase_if(pods_, [&](const auto& item) {
    return item.second.pod.node == node && !item.second.pod.is_deleting && goes_at_once(item.second);
  });
  for (auto& [uid, entry] : pods_)
    if (entry.pod.node == node && !entry.pod.is_deleting) {  // and stays so until the node's fate
      entry.pod.is_deleting = true;
      entry.pod.ends_at =
          WallTime{wall_now().since_epoch + std::chrono::seconds(scenario_.policies.grace_seconds)};
    }
}

void World::forget_node(const std::string& node) {
  std::erase_if(pods_, [&](const auto& item) { return item.second.pod.node == node; });
  storage_.lose_node(node);
}

void World::follow_nodes(World& leader) {
  if (std::exchange(wants_node_, false)) leader.add_node();
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    if (leader.nodes_.contains(it->first)) {
      ++it;
      continue;
    }
    forget_node(it->first);
    it = nodes_.erase(it);
  }
  for (const auto& [name, theirs] : leader.nodes_) {
    const SimNode before = std::exchange(nodes_[name], theirs);
    if (theirs.is_dead && !before.is_dead) end_all_on(name);
    if (before.is_dead && !theirs.is_dead) restart_all_on(name);
    if (theirs.is_known_dead && !before.is_known_dead) take_pods_from(name);
  }
}

void World::move_nodes(bool is_chaos) {
  if (scenario_.follows_nodes) return;
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
        forget_node(name);
        it = nodes_.erase(it);
        continue;
      }
      return_node(node);
    }
    if (node.is_dead && !node.is_known_dead && now_ >= node.known_at) {
      node.is_known_dead = true;
      take_pods_from(name);
    }
    ++it;
  }
}

}  // namespace ratoon::sim
