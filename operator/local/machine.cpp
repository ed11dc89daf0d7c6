#include "operator/local/machine.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace ratoon::local {
namespace {

std::string place_of(const api::Pod& pod) {
  return pod.role + "-" + std::to_string(pod.index);
}

std::string_view name_of(const api::Pod& pod) {
  if (pod.is_deleting) return "Terminating";
  switch (pod.phase) {
    case api::PodPhase::kPending:
      return "Pending";
    case api::PodPhase::kRunning:
      return "Running";
    case api::PodPhase::kSucceeded:
      return "Succeeded";
    case api::PodPhase::kFailed:
      return "Failed";
  }
  return "Unknown";
}

}  // namespace

std::string Machine::find_node(const api::Pod& pod) const {
  std::set<std::string> taken;
  for (const auto& [name, entry] : entries_) {
    if (!entry.group.has_ended()) taken.insert(entry.pod.node);
  }
  if (const auto last = last_node_of_.find(place_of(pod)); last != last_node_of_.end())
    taken.insert(last->second);
  for (std::size_t i = 1; i <= nodes_; ++i) {
    const std::string node = "node-" + std::to_string(i);
    if (!taken.contains(node)) return node;
  }
  return "";
}

Result<void> Machine::create(api::Pod pod) {
  if (entries_.contains(pod.name)) return {};
  pod.node = find_node(pod);
  if (pod.node.empty()) return Error(ErrorKind::kUnavailable, "no free node for " + pod.name);
  pod.uid = pod.name + "@" + pod.node;
  auto group = ProcessGroup::launch(plan_(pod));
  if (!group) return group.error().with_context(pod.name);
  pod.phase = api::PodPhase::kRunning;
  last_node_of_[place_of(pod)] = pod.node;
  const std::string name = pod.name;
  entries_.emplace(name, Entry{std::move(pod), std::move(*group)});
  return {};
}

void Machine::remove(const std::string& uid) {
  for (auto& [name, entry] : entries_) {
    if (entry.pod.uid != uid) continue;
    entry.pod.is_deleting = true;
    entry.group.kill();
  }
}

void Machine::remove_all() {
  for (auto& [name, entry] : entries_) {
    entry.pod.is_deleting = true;
    entry.group.kill();
  }
}

void Machine::observe() {
  for (auto& [name, entry] : entries_) {
    entry.group.reap();
    if (!entry.group.has_ended() || entry.pod.has_ended()) continue;
    entry.pod.exit_code = entry.group.exit_code();
    entry.pod.phase = *entry.pod.exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  }
  std::erase_if(entries_,
                [](const auto& item) { return item.second.pod.is_deleting && item.second.pod.has_ended(); });
}

std::vector<api::Pod> Machine::pods() const {
  std::vector<api::Pod> pods;
  for (const auto& [name, entry] : entries_) pods.push_back(entry.pod);
  return pods;
}

bool Machine::is_quiet() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& item) { return item.second.group.has_ended(); });
}

nlohmann::json Machine::describe() const {
  nlohmann::json members = nlohmann::json::array();
  for (const auto& [name, entry] : entries_) {
    members.push_back({{"name", name},
                       {"node", entry.pod.node},
                       {"phase", name_of(entry.pod)},
                       {"pids", entry.group.living()}});
  }
  return members;
}

}  // namespace ratoon::local
