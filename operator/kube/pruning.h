// Fields that a server does not store, because its definition of the kind is older than they are.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// Paths from the top; a path through a list stands for all of its items: "members[].node", "ledger".
using FieldPaths = std::set<std::string>;

// Returns the fields of `sent` that are missing in `stored`, regardless of their values. Items of lists are
// compared by position.
[[nodiscard]] FieldPaths find_pruned(const nlohmann::json& sent, const nlohmann::json& stored);

// Removes the fields with the given paths from the value.
void prune(nlohmann::json& value, const FieldPaths& paths);

}  // namespace ratoon::kube
