// Fields that a TrainingJob file has and a TrainingJob does not: a slip of the pen would otherwise train with
// the default, without a word.
#pragma once

#include <optional>
#include <string>

#include <yaml-cpp/yaml.h>

namespace ratoon::cli {

struct UnknownField {
  int line = 0;          // from 1
  std::string sentence;  // which one, and what may have been meant
};

// The first field that `definition` (a CustomResourceDefinition) does not know. Where it lets anything pass,
// as below a pod's template, so do we. A document of another kind or version has none: its reader refuses it.
[[nodiscard]] std::optional<UnknownField> find_unknown_field(const YAML::Node& document,
                                                             const YAML::Node& definition);

}  // namespace ratoon::cli
