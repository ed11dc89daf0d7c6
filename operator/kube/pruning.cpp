#include "operator/kube/pruning.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ratoon::kube {
namespace {

using nlohmann::json;

std::string join_field_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

void collect_pruned_fields(const json& sent, const json& stored, const std::string& path,
                           FieldPaths& pruned) {
  if (sent.is_object() && stored.is_object()) {
    for (const auto& [name, value] : sent.items()) {
      if (stored.contains(name))
        collect_pruned_fields(value, stored[name], join_field_path(path, name), pruned);
      else
        pruned.insert(join_field_path(path, name));
    }
  } else if (sent.is_array() && stored.is_array()) {
    for (std::size_t i = 0; i < std::min(sent.size(), stored.size()); ++i)
      collect_pruned_fields(sent[i], stored[i], path + "[]", pruned);
  }
}

void prune_subtree(json& value, const std::string& path, const FieldPaths& paths) {
  if (value.is_array()) {
    for (auto& item : value) prune_subtree(item, path + "[]", paths);
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end();) {
      const std::string below = join_field_path(path, it.key());
      if (paths.contains(below)) {
        it = value.erase(it);
        continue;
      }
      prune_subtree(*it, below, paths);
      ++it;
    }
  }
}

}  // namespace

FieldPaths find_pruned_fields(const json& sent, const json& stored) {
  FieldPaths pruned;
  collect_pruned_fields(sent, stored, "", pruned);
  return pruned;
}

void prune(json& value, const FieldPaths& paths) {
  if (!paths.empty()) prune_subtree(value, "", paths);
}

}  // namespace ratoon::kube
