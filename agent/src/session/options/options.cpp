#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <ratoon/options.h>

#include "agent/src/session/options/check_group.h"
#include "agent/src/session/options/check_options.h"
#include "agent/src/session/options/command_line.h"
#include "agent/src/session/options/launcher_variables.h"
#include "agent/src/session/options/misspelled_flags.h"
#include "agent/src/session/options/option_rows.h"
#include "base/core/split_join.h"

namespace ratoon {

using session::CountOrAll;

namespace {

std::optional<std::string> find_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// A number without a unit means steps, because options had no units in older versions.
std::string add_step_unit(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? text + "st" : text;
}

template <class T>
Result<void> assign_parsed(T* target, const Result<T>& parsed, const std::string& source) {
  if (!parsed) return Error(ErrorKind::kInvalid, source + ": " + parsed.error().message());
  *target = *parsed;
  return {};
}

// T is the type of an option, and may be a std::optional. The return type is the number type in T.
template <class T>
T number_type_of(const T&);
template <class T>
T number_type_of(const std::optional<T>&);

Result<void> assign_to(std::string* target, const std::string& text, const std::string&) {
  *target = text;
  return {};
}

Result<void> assign_to(bool* target, const std::string& text, const std::string& source) {
  if (text != "true" && text != "false")
    return Error(ErrorKind::kInvalid, source + " must be true or false, found '" + text + "'");
  *target = text == "true";
  return {};
}

Result<void> assign_to(std::vector<std::string>* target, const std::string& text, const std::string& source) {
  *target = split(text, ',');
  if (std::find(target->begin(), target->end(), "") == target->end()) return {};
  return Error(ErrorKind::kInvalid, source + " has an empty item between its commas, found '" + text + "'");
}

Result<void> assign_to(Every* target, const std::string& text, const std::string& source) {
  auto every = Every::parse(add_step_unit(text));
  return assign_parsed(target, every ? every : Every::parse(text), source);
}

Result<void> assign_to(std::optional<Until>* target, const std::string& text, const std::string& source) {
  return assign_parsed(&target->emplace(Until::steps(0)), Until::parse(text), source);
}

template <class Number>
Result<void> assign_to(Number* target, const std::string& text, const std::string& source) {
  using T = decltype(number_type_of(*target));
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorKind::kInvalid, source + " must be a whole number up to " +
                                          std::to_string(std::numeric_limits<T>::max()) + ", found '" + text +
                                          "'");
  }
  *target = value;
  return {};
}

Result<void> assign_to(const CountOrAll& target, const std::string& text, const std::string& source) {
  if (text != "all") {
    if (assign_to(target.count, text, source)) return {};
    return Error(ErrorKind::kInvalid, source + " must be a whole number up to " +
                                          std::to_string(std::numeric_limits<std::uint64_t>::max()) +
                                          ", or 'all', found '" + text + "'");
  }
  *target.count = kKeepAllCheckpoints;
  return {};
}

Result<void> assign(const session::OptionRow& row, const std::string& text, const std::string& source) {
  return std::visit([&](const auto& target) { return assign_to(target, text, source); }, row.target);
}

// Reads each option from its flag or, if the flag is not given, from its environment variable.
Result<void> read_values(Options& options, const session::CommandLine& line) {
  for (const auto& row : session::option_rows(options)) {
    const session::FoundFlag* const flag = row.flag == nullptr ? nullptr : line.find(row.flag);
    const auto text = flag != nullptr ? std::optional(flag->value) : find_variable(row.variable);
    if (!text) continue;
    if (auto assigned = assign(row, *text, flag != nullptr ? flag->flag : row.variable); !assigned)
      return assigned;
  }
  return {};
}

// Reads the rank of this process, and the number of ranks, from the launchers' environment variables. These
// variables are not in the table of options.
Result<void> read_rank_and_size(Options& options) {
  if (!options.member.coordinator_url.empty())
    return session::check_local_rank(options.member, find_variable);
  if (session::is_group_set(options.group)) return {};
  auto group = session::read_launcher_variables(find_variable);
  if (!group) return group.error();
  options.group = *std::move(group);
  return {};
}

session::CommandLine parse_arguments(int argc, const char* const* argv, const FlagRules& rules) {
  Options scratch;
  const std::span words(argv, static_cast<std::size_t>(std::max(argc, 0)));
  return session::read_command_line(words, session::option_rows(scratch), rules);
}

Result<Options> read_options(const session::CommandLine& line, Options options) {
  if (line.asks_for_help()) {
    Options asked;
    asked.help = session::help_text(std::move(options));
    return asked;
  }
  if (line.refusal) return *line.refusal;
  options.flags.clear();
  for (const session::FoundFlag& flag : line.flags) options.flags.push_back(flag.flag);
  if (auto values = read_values(options, line); !values) return values.error();
  if (auto place = read_rank_and_size(options); !place) return place.error();
  if (auto valid = session::check_options(options); !valid) return valid.error();
  return options;
}

}  // namespace

Result<void> session::assign_option(Options& options, const std::string& name, const std::string& text) {
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  std::string near;
  for (const OptionRow& row : option_rows(options)) {
    if (row.flag == nullptr) continue;
    if (flag == row.flag) return assign(row, text, name);
    if (is_probable_misspelling(flag, row.flag)) near = row.flag;
  }
  if (near.empty())
    return Error(ErrorKind::kInvalid, "there is no option " + name + ": docs/reference/options.md lists all");
  near.erase(0, 2);
  std::replace(near.begin(), near.end(), '-', '_');
  return Error(ErrorKind::kInvalid, "there is no option " + name + ": give " + near);
}

Result<Options> Options::from_environment() {
  return from_environment(Options());
}

Result<Options> Options::from_environment(Options defaults) {
  return from_environment(0, nullptr, std::move(defaults));
}

Result<Options> Options::from_environment(int argc, const char* const* argv) {
  return from_environment(argc, argv, Options());
}

Result<Options> Options::from_environment(int argc, const char* const* argv, Options defaults,
                                          const FlagRules& rules) {
  if (auto valid = session::check_flag_rules(rules); !valid) return valid.error();
  return read_options(parse_arguments(argc, argv, rules), std::move(defaults));
}

Result<Options> take_options(int& argc, char** argv, Options defaults, const FlagRules& rules) {
  if (auto valid = session::check_flag_rules(rules); !valid) return valid.error();
  const session::CommandLine line = parse_arguments(argc, argv, rules);
  session::remove_flags(line, argc, argv);
  return read_options(line, std::move(defaults));
}

}  // namespace ratoon
