// Finds unknown fields in a TrainingJob file. Without this check a misspelled field would be ignored
// silently, and the job would run with the field's default.
#pragma once

#include <optional>
#include <string>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

struct UnknownField {
  int line = 0;          // from 1
  std::string sentence;  // names the field, and suggests a known one
};

// Returns the first field that `definition` (a CustomResourceDefinition) does not know. Accepts any field in
// places where `definition` allows unknown fields, for example below a pod template. Returns nothing for a
// document of another kind or version, because the decoder refuses the whole document.
[[nodiscard]] std::optional<UnknownField> find_unknown_field(const YAML::Node& document,
                                                             const YAML::Node& definition);

}  // namespace ratoon::cli
