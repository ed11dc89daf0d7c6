// The line of a TrainingJob file to which a complaint refers.
#pragma once

#include <optional>
#include <string_view>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

// Counts from 1. There is no value if the complaint names no field of the document. For a missing field the
// line is the parent's: for "spec.roles[0].name", the line of the first role.
[[nodiscard]] std::optional<int> line_of_complaint(const YAML::Node& document, std::string_view complaint);

}  // namespace ratoon::cli
