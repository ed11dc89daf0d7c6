// Expands $(NAME) in a container's variables and command as Kubernetes does: a known name is replaced by its
// value, an unknown name stays as written, and $$ becomes $.
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

// Adds `variables` to `known` and returns the result. The value of a variable may refer to variables that are
// defined before it. If a name is defined twice, its last definition counts.
[[nodiscard]] VariableMap expand_environment(const std::vector<Variable>& variables, VariableMap known);

// Escapes `text` so that expansion returns exactly `text`.
[[nodiscard]] std::string escape_variables(std::string_view text);

}  // namespace ratoon::api
