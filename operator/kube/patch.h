// The JSON merge patch (RFC 7396) that turns one value into another.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// Members that vanish become null; lists and plain values are replaced; an empty object changes nothing. Both
// are objects, and `to` holds no null: a merge patch cannot write one.
[[nodiscard]] nlohmann::json patch_between(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace ratoon::kube
