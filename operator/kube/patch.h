// Computes the JSON merge patch (RFC 7396) that turns one JSON value into another.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// In the patch, removed members are null, and changed lists and plain values are replaced as a whole; an
// empty patch changes nothing. Both arguments must be objects, and `to` has no null: a patch cannot write it.
[[nodiscard]] nlohmann::json patch_between(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace ratoon::kube
