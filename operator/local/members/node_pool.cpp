#include "operator/local/members/node_pool.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "base/core/split_join.h"
#include "operator/core/members/notice_rules.h"

namespace ratoon::local {
namespace {

constexpr std::size_t kNodeNameBytesMax = 253;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

}  // namespace

NodePool::NodePool(std::size_t size) : target_size_(size) {
  refill();
}

Result<void> NodePool::check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kNodeNameBytesMax && std::ranges::all_of(name, is_name_character))
    return {};
  return Error(ErrorKind::kInvalid, "a node's name has 1 to 253 letters, digits, '-', '.' and '_', found '" +
                                        std::string(name.substr(0, kNodeNameBytesMax)) + "'");
}

void NodePool::refill() {
  const auto count = [this] { return stable_nodes().size(); };
  while (target_size_ != 0 && count() < target_size_) add("node-" + std::to_string(++nodes_made_));
}

void NodePool::add(const std::string& name) {
  if (!find(name)) entries_.push_back({.name = name});
}

Result<std::vector<NodePool::NodeEntry>::iterator> NodePool::find(const std::string& name) {
  const auto found = std::ranges::find(entries_, name, &NodeEntry::name);
  if (found != entries_.end()) return found;
  const std::string known = entries_.empty() ? "is none" : "are " + join(entries_, ", ", &NodeEntry::name);
  return Error(ErrorKind::kNotFound, "there is no node '" + name + "'; there " + known);
}

Result<void> NodePool::announce_end(const std::string& name, Timestamp end, WallTime wall_clock_end) {
  const auto found = find(name);
  if (!found) return found.error();
  NodeEntry& entry = **found;
  if (!entry.end || end < *entry.end) {
    entry.end = end;
    entry.wall_clock_end = wall_clock_end;
  }
  refill();
  return {};
}

Result<void> NodePool::remove(const std::string& name) {
  const auto found = find(name);
  if (!found) return found.error();
  entries_.erase(*found);
  refill();
  return {};
}

std::optional<Timestamp> NodePool::end_of(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &NodeEntry::name);
  return found == entries_.end() ? std::nullopt : found->end;
}

std::vector<std::string> NodePool::expired_nodes(Timestamp now) const {
  std::vector<std::string> names;
  for (const NodeEntry& entry : entries_)
    if (entry.end && *entry.end <= now) names.push_back(entry.name);
  return names;
}

std::optional<Timestamp> NodePool::next_end_time() const {
  std::optional<Timestamp> next;
  for (const NodeEntry& entry : entries_)
    if (entry.end) next = std::min(*entry.end, next.value_or(*entry.end));
  return next;
}

std::vector<std::string> NodePool::stable_nodes() const {
  std::vector<std::string> names;
  for (const NodeEntry& entry : entries_)
    if (!entry.end) names.push_back(entry.name);
  return names;
}

std::vector<api::Node> NodePool::nodes() const {
  std::vector<api::Node> nodes;
  for (const NodeEntry& entry : entries_) {
    api::Node node{.name = entry.name};
    if (entry.end) {
      node.taints.push_back({.key = core::kReclaimTaint, .effect = "NoSchedule"});
      node.ends_at = entry.wall_clock_end;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

nlohmann::json NodePool::describe() const {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeEntry& entry : entries_) {
    nlohmann::json node = {{"name", entry.name}};
    if (entry.end) node["ends_at"] = format_rfc3339(entry.wall_clock_end);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace ratoon::local
