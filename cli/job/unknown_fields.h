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

// Returns the first field that `definition` (a CustomResourceDefinition) does not know. Where the definition
// accepts any field, as below a pod template, this function does too. For a document of another kind or
// version it returns nothing, because the decoder refuses such a document.
[[nodiscard]] std::optional<UnknownField> find_unknown_field(const YAML::Node& document,
                                                             const YAML::Node& definition);

}  // namespace ratoon::cli
