// Reads YAML as JSON.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::runtime {

// Parses YAML. Scalars stay texts, except for true and false. The depth and the number of values in the file
// are limited. `name`: the file's name for error messages.
[[nodiscard]] Result<nlohmann::json> parse_yaml(const std::string& text, std::string_view name);
[[nodiscard]] Result<nlohmann::json> read_yaml(const std::string& path);

}  // namespace ratoon::runtime
