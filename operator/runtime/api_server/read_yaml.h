// Reads YAML as JSON.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::runtime {

// Scalars stay texts, except true and false. The depth and the number of values are limited. `name` is the
// file's name in errors.
[[nodiscard]] Result<nlohmann::json> parse_yaml(const std::string& text, std::string_view name);
[[nodiscard]] Result<nlohmann::json> read_yaml(const std::string& path);

}  // namespace ratoon::runtime
