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
#include "agent/src/session/options/launcher_variables.h"
#include "agent/src/session/options/misspelled_flags.h"
#include "agent/src/session/options/option_rows.h"
#include "base/core/lists.h"

namespace ratoon {

using session::CountOrAll;

namespace {

// Returns the value after --flag or --flag=; if the flag is given several times, the last value counts. A
// flag for true or false that has no value means true.
Result<std::optional<std::string>> find_flag(int argc, const char* const* argv, std::string_view flag,
                                             bool is_switch) {
  std::optional<std::string> value;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word == flag) {
      if (is_switch && (i + 1 >= argc || argv[i + 1][0] == '-')) {
        value = "true";
        continue;
      }
      if (i + 1 >= argc) return Error(ErrorKind::kInvalid, std::string(flag) + " needs a value after it");
      value = argv[++i];
    } else if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      value = word.substr(flag.size() + 1);
    }
  }
  return value;
}

std::optional<std::string> find_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool asks_for_help(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == session::kHelpFlag) return true;
  return false;
}

// Options had no units in older versions, and a number without a unit still means steps.
std::string with_unit(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? text + "st" : text;
}

template <class T>
Result<void> assign_parsed(T* target, const Result<T>& parsed, const std::string& source) {
  if (!parsed) return Error(ErrorKind::kInvalid, source + ": " + parsed.error().message());
  *target = *parsed;
  return {};
}

// The type of the number that an option holds.
template <class T>
T number_in(const T&);
template <class T>
T number_in(const std::optional<T>&);

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
  auto every = Every::parse(with_unit(text));
  return assign_parsed(target, every ? every : Every::parse(text), source);
}

Result<void> assign_to(std::optional<Until>* target, const std::string& text, const std::string& source) {
  return assign_parsed(&target->emplace(Until::steps(0)), Until::parse(text), source);
}

template <class Number>
Result<void> assign_to(Number* target, const std::string& text, const std::string& source) {
  using T = decltype(number_in(*target));
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

// The place of this process in its job or launch, beyond the variables that have rows.
Result<void> read_place(Options& options) {
  if (!options.member.coordinator_url.empty())
    return session::check_local_rank(options.member, find_variable);
  if (session::is_filled(options.group)) return {};
  auto group = session::read_launcher_variables(find_variable);
  if (!group) return group.error();
  options.group = *std::move(group);
  return {};
}

}  // namespace

Result<void> session::assign_option(Options& options, const std::string& name, const std::string& text) {
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  std::string near;
  for (const OptionRow& row : option_rows(options)) {
    if (row.flag == nullptr) continue;
    if (flag == row.flag) return assign(row, text, name);
    if (is_nearly(flag, row.flag)) near = row.flag;
  }
  if (near.empty())
    return Error(ErrorKind::kInvalid, "there is no option " + name + ": docs/reference/options.md lists all");
  near.erase(0, 2);
  std::replace(near.begin(), near.end(), '-', '_');
  return Error(ErrorKind::kInvalid, "there is no option " + name + ": give " + near);
}

Result<Options> Options::from_environment(int argc, const char* const* argv) {
  return from_environment(argc, argv, Options());
}

Result<Options> Options::from_environment(int argc, const char* const* argv, Options defaults) {
  if (asks_for_help(argc, argv)) {
    Options options;
    options.help = session::help_text(std::move(defaults));
    return options;
  }
  Options options = std::move(defaults);
  const auto rows = session::option_rows(options);
  const std::span words(argv, static_cast<std::size_t>(std::max(argc, 0)));
  if (auto known = session::check_near_flags(words, rows); !known) return known.error();
  for (const auto& row : rows) {
    std::optional<std::string> text = find_variable(row.variable);
    std::string source = row.variable;
    if (row.flag != nullptr) {
      auto flag = find_flag(argc, argv, row.flag, std::holds_alternative<bool*>(row.target));
      if (!flag) return flag.error();
      if (*flag) {
        text = **flag;
        source = row.flag;
      }
    }
    if (!text) continue;
    if (auto assigned = assign(row, *text, source); !assigned) return assigned.error();
  }
  if (auto place = read_place(options); !place) return place.error();
  if (auto valid = session::check_options(options); !valid) return valid.error();
  return options;
}

}  // namespace ratoon
