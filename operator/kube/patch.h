// The JSON merge patch (RFC 7396) that turns one value into another.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ratoon::kube {

// Removed members become null; lists and plain values are replaced; an empty object changes nothing. Both
// arguments are objects, and `to` contains no null, which a merge patch cannot write.
[[nodiscard]] nlohmann::json patch_between(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace ratoon::kube
