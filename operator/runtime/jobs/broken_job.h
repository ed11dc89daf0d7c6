// Makes the condition that reports why a job cannot be read. All other parts of the job's status stay
// unchanged, because an operator that can read the job will continue from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"

namespace ratoon::runtime {

// Returns the job's conditions plus the condition InvalidSpec with the complaint. Returns nothing if the
// conditions already contain the complaint, are not a list, or have no room for a further condition.
[[nodiscard]] std::optional<nlohmann::json> with_invalid_condition(const nlohmann::json& conditions,
                                                                   const std::string& complaint,
                                                                   std::uint64_t generation, WallTime now);

}  // namespace ratoon::runtime
