// Reads what the server says of a node: what tells whether it will stay, and nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/node.h"

namespace ratoon::kube {

// Refuses a node without a name; anything else that is missing or odd reads as absent.
[[nodiscard]] Result<api::Node> decode_node(const nlohmann::json& node);

}  // namespace ratoon::kube
