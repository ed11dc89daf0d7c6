#include "operator/kube/patch.h"

#include <nlohmann/json.hpp>

namespace ratoon::kube {

using nlohmann::json;

json patch_between(const json& from, const json& to) {
  json patch = json::object();
  if (!to.is_object()) return patch;
  if (from.is_object()) {
    for (const auto& [name, value] : from.items())
      if (!to.contains(name)) patch[name] = nullptr;
  }
  for (const auto& [name, value] : to.items()) {
    const bool was_there = from.is_object() && from.contains(name);
    if (was_there && from[name] == value) continue;
    if (was_there && from[name].is_object() && value.is_object())
      patch[name] = patch_between(from[name], value);
    else
      patch[name] = value;
  }
  return patch;
}

}  // namespace ratoon::kube
