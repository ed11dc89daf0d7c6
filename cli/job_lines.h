// Where in a TrainingJob file the field stands that a complaint is about.
#pragma once

#include <optional>
#include <string_view>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

// From 1; nothing where the complaint names no field of the document. A field that is missing has the line of
// what it should stand in: "spec.roles[0].name" that of the first role.
[[nodiscard]] std::optional<int> line_of_complaint(const YAML::Node& document, std::string_view complaint);

}  // namespace ratoon::cli
