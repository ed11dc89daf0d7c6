#include "agent/src/checkpoint/tiers/name_pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kRunNamePlaceholder = "{run_name}";
constexpr std::string_view kTimestampPlaceholder = "{timestamp}";
constexpr std::array<std::string_view, 3> kChangingPlaceholders{"{epoch}", "{batch}", kTimestampPlaceholder};
constexpr std::size_t kTimeBytes = 24;

std::optional<std::string> placeholder_value(std::string_view placeholder, const PatternValues& facts) {
  if (placeholder == "run_name") return facts.run_name;
  if (placeholder == "epoch") return std::to_string(facts.epoch);
  if (placeholder == "batch") return std::to_string(facts.batch);
  if (placeholder == "rank") return std::to_string(facts.rank);
  if (placeholder != "timestamp") return std::nullopt;
  std::string time = format_rfc3339(facts.timestamp);
  std::replace(time.begin(), time.end(), ':', '-');
  return time;
}

Error invalid_pattern_error(std::string_view pattern, const std::string& what) {
  return {ErrorKind::kInvalid, "the name pattern '" + std::string(pattern) + "' cannot be used: " + what};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_with_time(std::string_view name) {
  constexpr std::string_view kShape = "0000-00-00T00-00-00.000Z";
  return name.size() >= kTimeBytes &&
         std::equal(kShape.begin(), kShape.end(), name.begin(),
                    [](char shape, char found) { return shape == '0' ? is_digit(found) : shape == found; });
}

}  // namespace

Result<std::string> expand_name(std::string_view pattern, const PatternValues& facts) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t brace = std::min(pattern.find_first_of("{}", at), pattern.size());
    name += pattern.substr(at, brace - at);
    if (brace == pattern.size()) break;
    const std::size_t end = pattern.find_first_of("{}", brace + 1);
    if (pattern[brace] == '}' || end == std::string_view::npos || pattern[end] == '{')
      return invalid_pattern_error(pattern, "found a single brace, expected placeholders such as {rank}");
    const std::string_view placeholder = pattern.substr(brace + 1, end - brace - 1);
    const auto value = placeholder_value(placeholder, facts);
    if (!value) {
      return invalid_pattern_error(pattern,
                                   "found the unknown placeholder {" + std::string(placeholder) +
                                       "}: expected {run_name}, {epoch}, {batch}, {rank} or {timestamp}");
    }
    name += *value;
    at = end + 1;
  }
  if (!check_path(name))
    return invalid_pattern_error(pattern,
                                 "the expanded name '" + name + "' is no path below the run's folder");
  return name;
}

Result<void> check_pattern(std::string_view pattern, std::uint32_t ranks_that_write) {
  PatternValues facts{.run_name = "run"};
  const auto of_first = expand_name(pattern, facts);
  if (!of_first) return of_first.error();
  facts.rank = 1;
  if (ranks_that_write > 1 && expand_name(pattern, facts).value_or("") == *of_first) {
    return invalid_pattern_error(
        pattern,
        "the pattern gives " + std::to_string(ranks_that_write) +
            " ranks the same name, and each rank would overwrite the file of the others: add {rank}");
  }
  return {};
}

bool changes_with_checkpoints(std::string_view pattern) {
  return std::ranges::any_of(kChangingPlaceholders, [&](std::string_view placeholder) {
    return pattern.find(placeholder) != std::string_view::npos;
  });
}

std::string fixed_beginning(std::string_view pattern, const std::string& run_name) {
  std::string fixed(pattern.substr(0, pattern.find('{')));
  pattern.remove_prefix(fixed.size());
  if (!pattern.starts_with(kRunNamePlaceholder)) return fixed;
  return fixed + run_name + fixed_beginning(pattern.substr(kRunNamePlaceholder.size()), run_name);
}

bool can_expand_to(std::string_view pattern, std::string_view name, const std::string& run_name) {
  const std::size_t brace = std::min(pattern.find('{'), pattern.size());
  if (!name.starts_with(pattern.substr(0, brace))) return false;
  name.remove_prefix(brace);
  if (brace == pattern.size()) return name.empty();
  const std::size_t end = pattern.find('}', brace);
  const std::string_view placeholder = pattern.substr(brace, end + 1 - brace);
  const std::string_view rest = pattern.substr(end + 1);
  const auto gives_rest = [&](std::size_t taken) {
    return can_expand_to(rest, name.substr(taken), run_name);
  };
  if (placeholder == kRunNamePlaceholder) return name.starts_with(run_name) && gives_rest(run_name.size());
  if (placeholder == kTimestampPlaceholder) return begins_with_time(name) && gives_rest(kTimeBytes);
  // If a digit follows the placeholder of a number in the pattern, the name does not show where the number
  // ends: try each length of the number.
  for (std::size_t digits = 1; digits <= name.size() && is_digit(name[digits - 1]); ++digits)
    if (gives_rest(digits)) return true;
  return false;
}

}  // namespace ratoon::checkpoint
