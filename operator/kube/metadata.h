// What is read of any object's metadata.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/contract/messages.h"

namespace ratoon::kube {

// Namespace and name; empty where the object does not say them.
[[nodiscard]] JobKey key_in(const nlohmann::json& object);

// A resource version as a number, since what is newer has to be told; 0 where it is none.
[[nodiscard]] std::uint64_t parse_version(std::string_view text);
[[nodiscard]] std::uint64_t version_in(const nlohmann::json& object);

}  // namespace ratoon::kube
