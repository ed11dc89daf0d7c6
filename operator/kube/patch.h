// Computes the JSON merge patch (RFC 7396) that turns one JSON value into another.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// In the patch, removed members are null, and changed lists and values are replaced as a whole; an empty
// patch changes nothing. `from` and `to` must be objects. `to` must have no null: a patch cannot set null.
[[nodiscard]] nlohmann::json patch_between(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace ratoon::kube
