// What the status of a job that cannot be read says of that. Nothing else of the status is touched: whoever
// can read the job again goes on from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"

namespace ratoon::runtime {

// The conditions with the complaint among them, the others as they are; nothing where they say so already, or
// are no list that one more fits into.
[[nodiscard]] std::optional<nlohmann::json> with_complaint(const nlohmann::json& conditions,
                                                           const std::string& complaint,
                                                           std::uint64_t generation, WallTime now);

}  // namespace ratoon::runtime
