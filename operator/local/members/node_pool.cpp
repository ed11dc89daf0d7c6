#include "operator/local/members/node_pool.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "base/core/lists.h"
#include "operator/core/members/notice_rules.h"

namespace ratoon::local {
namespace {

constexpr std::size_t kNameBytesMax = 253;

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

}  // namespace

NodePool::NodePool(std::size_t size) : size_(size) {
  refill();
}

Result<void> NodePool::check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, is_of_a_name)) return {};
  return Error(ErrorKind::kInvalid, "a node's name has 1 to 253 letters, digits, '-', '.' and '_', found '" +
                                        std::string(name.substr(0, kNameBytesMax)) + "'");
}

void NodePool::refill() {
  const auto count = [this] { return stable().size(); };
  while (size_ != 0 && count() < size_) add("node-" + std::to_string(++made_));
}

void NodePool::add(const std::string& name) {
  if (!find(name)) entries_.push_back({.name = name});
}

Result<std::vector<NodePool::Entry>::iterator> NodePool::find(const std::string& name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found != entries_.end()) return found;
  const std::string known = entries_.empty() ? "is none" : "are " + join(entries_, ", ", &Entry::name);
  return Error(ErrorKind::kNotFound, "there is no node '" + name + "'; there " + known);
}

Result<void> NodePool::announce_end(const std::string& name, Timestamp end, WallTime shown_end) {
  const auto found = find(name);
  if (!found) return found.error();
  Entry& entry = **found;
  if (!entry.end || end < *entry.end) {
    entry.end = end;
    entry.shown_end = shown_end;
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
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? std::nullopt : found->end;
}

std::vector<std::string> NodePool::due(Timestamp now) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    if (entry.end && *entry.end <= now) names.push_back(entry.name);
  return names;
}

std::optional<Timestamp> NodePool::next_due() const {
  std::optional<Timestamp> next;
  for (const Entry& entry : entries_)
    if (entry.end) next = std::min(*entry.end, next.value_or(*entry.end));
  return next;
}

std::vector<std::string> NodePool::stable() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    if (!entry.end) names.push_back(entry.name);
  return names;
}

std::vector<api::Node> NodePool::nodes() const {
  std::vector<api::Node> nodes;
  for (const Entry& entry : entries_) {
    api::Node node{.name = entry.name};
    if (entry.end) {
      node.taints.push_back({.key = core::kReclaimTaint, .effect = "NoSchedule"});
      node.ends_at = entry.shown_end;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

nlohmann::json NodePool::describe() const {
  nlohmann::json nodes = nlohmann::json::array();
  for (const Entry& entry : entries_) {
    nlohmann::json node = {{"name", entry.name}};
    if (entry.end) node["ends_at"] = format_rfc3339(entry.shown_end);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace ratoon::local
