// Finds fields of a TrainingJob file that no TrainingJob has. Without this check a misspelled field would
// silently train with its default.
#pragma once

#include <optional>
#include <string>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

struct UnknownField {
  int line = 0;          // from 1
  std::string sentence;  // names the field, and suggests a known one
};

// The first field that `definition` (a CustomResourceDefinition) does not know. Where the definition accepts
// any field, as below a pod's template, this function does too. A document of another kind or version has no
// unknown field here, because its decoder refuses it.
[[nodiscard]] std::optional<UnknownField> find_unknown_field(const YAML::Node& document,
                                                             const YAML::Node& definition);

}  // namespace ratoon::cli
