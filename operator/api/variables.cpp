#include "operator/api/variables.h"

namespace ratoon::api {

std::string expand_variables(std::string_view text, const VariableMap& known) {
  std::string expanded;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t dollar = text.find('$', at);
    expanded += text.substr(at, dollar - at);
    if (dollar == std::string_view::npos) break;
    const std::string_view rest = text.substr(dollar);
    const std::size_t end = rest.starts_with("$(") ? rest.find(')') : std::string_view::npos;
    const std::size_t length =
        end == std::string_view::npos ? std::min<std::size_t>(2, rest.size()) : end + 1;
    const auto found =
        end == std::string_view::npos ? known.end() : known.find(std::string(rest.substr(2, end - 2)));
    if (rest.starts_with("$$"))
      expanded += '$';
    else
      expanded += found == known.end() ? rest.substr(0, length) : std::string_view(found->second);
    at = dollar + length;
  }
  return expanded;
}

VariableMap expand_environment(const std::vector<Variable>& variables, VariableMap known) {
  for (const auto& [name, value] : variables) known[name] = expand_variables(value, known);
  return known;
}

std::string escape_variables(std::string_view text) {
  if (text.find("$$") == std::string_view::npos && text.find("$(") == std::string_view::npos)
    return std::string(text);
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? "$$" : std::string(1, c);
  return escaped;
}

}  // namespace ratoon::api
