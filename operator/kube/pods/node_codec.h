// Reads from a Node object only the fields that show whether the node will stay.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/node.h"

namespace ratoon::kube {

// Refuses a node without a name; any other missing or invalid field counts as absent. Takes only the labels,
// annotations and conditions that `keys` names.
[[nodiscard]] Result<api::Node> decode_node(const nlohmann::json& node, const api::NodeFactKeys& keys = {});

}  // namespace ratoon::kube
