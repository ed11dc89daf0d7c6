// Reads the metadata of any Kubernetes object.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/contract/messages.h"

namespace ratoon::kube {

// Returns the object's namespace and name; they are empty if the object lacks them.
[[nodiscard]] JobKey job_key_in(const nlohmann::json& object);

// Returns a resource version as a number, so that versions can be compared; 0 if it is not a number.
[[nodiscard]] std::uint64_t parse_version(std::string_view text);
[[nodiscard]] std::uint64_t resource_version_in(const nlohmann::json& object);

}  // namespace ratoon::kube
