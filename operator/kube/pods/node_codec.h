// Reads a node: only the fields that show whether it will stay.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "operator/api/node.h"

namespace ratoon::kube {

// Refuses a node without a name; other fields that are missing or invalid read as absent.
[[nodiscard]] Result<api::Node> decode_node(const nlohmann::json& node);

}  // namespace ratoon::kube
