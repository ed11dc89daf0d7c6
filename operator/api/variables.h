// Variables of a container, and $(NAME) in its words, as Kubernetes defines it: a name that is known becomes
// its value, one that is not stays as it stands, and $$ is a $.
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

using Environment = std::map<std::string, std::string>;

[[nodiscard]] std::string expand_variables(std::string_view text, const Environment& known);

// These on top of those that are known: a value may refer to what stands before it, and the last one of a
// name counts.
[[nodiscard]] Environment expand_environment(const std::vector<Variable>& variables, Environment known);

// A text that expands to this one.
[[nodiscard]] std::string escape_variables(std::string_view text);

}  // namespace ratoon::api
