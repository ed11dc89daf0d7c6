// A YAML file as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::runtime {

// Scalars stay texts, but for true and false. Depth and number of values are bounded.
[[nodiscard]] Result<nlohmann::json> read_yaml(const std::string& path);

}  // namespace ratoon::runtime
