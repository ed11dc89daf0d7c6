// Finds fields that the API server drops because its CustomResourceDefinition is too old.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// Paths of fields from the top of an object; "members[].node" means the field `node` of all items of
// `members`.
using FieldPaths = std::set<std::string>;

// Returns the paths of the fields of `sent` that are missing in `stored`; values may differ. Items of lists
// are compared by position.
[[nodiscard]] FieldPaths find_pruned_fields(const nlohmann::json& sent, const nlohmann::json& stored);

// Removes the fields with the given paths from the value.
void prune(nlohmann::json& value, const FieldPaths& paths);

}  // namespace ratoon::kube
