// Reads the metadata of any object.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/contract/messages.h"

namespace ratoon::kube {

// Namespace and name; empty if the object lacks them.
[[nodiscard]] JobKey key_in(const nlohmann::json& object);

// A resource version as a number, since versions must be compared; 0 if it is not a number.
[[nodiscard]] std::uint64_t parse_version(std::string_view text);
[[nodiscard]] std::uint64_t version_in(const nlohmann::json& object);

}  // namespace ratoon::kube
