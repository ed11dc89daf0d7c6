#include "cli/job/complaint_line.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace ratoon::cli {
namespace {

std::string_view take_until(std::string_view& rest, std::string_view ends) {
  const std::size_t end = std::min(rest.find_first_of(ends), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end);
  return part;
}

// Follows `path` as far as its fields exist, and returns the last existing field's line, or `found` if none
// exists.
std::optional<int> find_line(const YAML::Node& value, std::string_view path, std::optional<int> found) {
  if (path.starts_with('[') && value.IsSequence()) {
    path.remove_prefix(1);
    const std::string_view digits = take_until(path, "]");
    std::size_t index = value.size();
    std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (index >= value.size() || path.empty()) return found;
    return find_line(value[index], path.substr(1), value[index].Mark().line + 1);
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  const std::string_view name = take_until(path, ".[");
  if (name.empty() || !value.IsMap()) return found;
  for (const auto& item : value)
    if (item.first.Scalar() == name) return find_line(item.second, path, item.first.Mark().line + 1);
  return found;
}

}  // namespace

std::optional<int> find_error_line(const YAML::Node& document, std::string_view complaint) {
  std::optional<int> found;
  std::size_t longest = 0;  // a job may be named 'spec': the field's path is longer
  while (!complaint.empty()) {
    const std::string_view word = take_until(complaint, " ,;:");
    const auto line = find_line(document, word, std::nullopt);
    if (line && word.size() >= longest) {
      found = line;
      longest = word.size();
    }
    complaint.remove_prefix(std::min<std::size_t>(complaint.size(), 1));
  }
  return found;
}

}  // namespace ratoon::cli
