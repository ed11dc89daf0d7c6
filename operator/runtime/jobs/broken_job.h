// The condition with which the status of an unreadable job reports the reason. The rest of the status is not
// changed: an operator that can read the job again continues from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"

namespace ratoon::runtime {

// Returns the conditions with the complaint added; the other conditions stay. Returns nothing if the
// conditions have the complaint already, or are not a list with room for one more.
[[nodiscard]] std::optional<nlohmann::json> with_invalid_condition(const nlohmann::json& conditions,
                                                                   const std::string& complaint,
                                                                   std::uint64_t generation, WallTime now);

}  // namespace ratoon::runtime
