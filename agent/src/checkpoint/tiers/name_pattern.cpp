#include "agent/src/checkpoint/tiers/name_pattern.h"

#include <algorithm>
#include <optional>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {
namespace {

std::optional<std::string> value_of(std::string_view placeholder, const NameFacts& facts) {
  if (placeholder == "run_name") return facts.run_name;
  if (placeholder == "epoch") return std::to_string(facts.epoch);
  if (placeholder == "batch") return std::to_string(facts.batch);
  if (placeholder == "rank") return std::to_string(facts.rank);
  if (placeholder != "timestamp") return std::nullopt;
  std::string time = format_rfc3339(facts.timestamp);
  std::replace(time.begin(), time.end(), ':', '-');
  return time;
}

Error refusal(std::string_view pattern, const std::string& what) {
  return {ErrorKind::kInvalid, "the name pattern '" + std::string(pattern) + "' " + what};
}

}  // namespace

Result<std::string> expand_name(std::string_view pattern, const NameFacts& facts) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t brace = std::min(pattern.find_first_of("{}", at), pattern.size());
    name += pattern.substr(at, brace - at);
    if (brace == pattern.size()) break;
    const std::size_t end = pattern.find_first_of("{}", brace + 1);
    if (pattern[brace] == '}' || end == std::string_view::npos || pattern[end] == '{')
      return refusal(pattern, "has a brace that stands alone: write placeholders as {rank}");
    const std::string_view placeholder = pattern.substr(brace + 1, end - brace - 1);
    const auto value = value_of(placeholder, facts);
    if (!value) {
      return refusal(pattern, "has the unknown placeholder {" + std::string(placeholder) +
                                  "}: there are {run_name}, {epoch}, {batch}, {rank} and {timestamp}");
    }
    name += *value;
    at = end + 1;
  }
  if (!check_path(name))
    return refusal(pattern, "gives '" + name + "', which is no path below the run's folder");
  return name;
}

Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write) {
  NameFacts facts{.run_name = "run"};
  const auto of_first = expand_name(pattern, facts);
  if (!of_first) return of_first.error();
  facts.rank = 1;
  if (ranks_that_write > 1 && expand_name(pattern, facts).value_or("") == *of_first) {
    return refusal(pattern, "gives " + std::to_string(ranks_that_write) +
                                " ranks one name, and each would overwrite the others': add {rank}");
  }
  return {};
}

}  // namespace ratoon::checkpoint
