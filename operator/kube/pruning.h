// Fields that a server leaves out of what it stores, since its definition of the kind is older than they are.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// Paths from the top, of members of all items of a list alike: "members[].node", "ledger".
using FieldPaths = std::set<std::string>;

// What of `sent` is not in `stored`, whatever its value is there. Items of lists are compared by their place.
[[nodiscard]] FieldPaths find_pruned(const nlohmann::json& sent, const nlohmann::json& stored);

// The value without these.
void prune(nlohmann::json& value, const FieldPaths& paths);

}  // namespace ratoon::kube
