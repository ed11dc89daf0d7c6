// Variables of a container, and the expansion of $(NAME) as Kubernetes defines it: a known name is replaced
// by its value, an unknown one stays as written, and $$ stands for $.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ratoon::api {

struct Variable {
  std::string name;
  std::string value;

  friend bool operator==(const Variable&, const Variable&) = default;
};

using VariableMap = std::map<std::string, std::string>;

[[nodiscard]] std::string expand_variables(std::string_view text, const VariableMap& known);

// Adds `variables` to `known`. A value may refer to variables before it, and the last definition of a name
// counts.
[[nodiscard]] VariableMap expand_environment(const std::vector<Variable>& variables, VariableMap known);

// Returns a text that expands to `text`.
[[nodiscard]] std::string escape_variables(std::string_view text);

}  // namespace ratoon::api
