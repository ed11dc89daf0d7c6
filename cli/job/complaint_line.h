// Finds the line of a TrainingJob file to which an error message refers.
#pragma once

#include <optional>
#include <string_view>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

// Returns the line number, counted from 1, or nothing if the complaint names no field of the document. A
// missing field has its parent's line: for "spec.roles[0].name", the line of the first role.
[[nodiscard]] std::optional<int> find_error_line(const YAML::Node& document, std::string_view complaint);

}  // namespace ratoon::cli
