#include <algorithm>

#include "agent/src/session/options/option_rows.h"
#include "base/core/split_join.h"

namespace ratoon::session {
namespace {

std::string text_of_default(const std::string* value) {
  return *value;
}
std::string text_of_default(const bool* value) {
  return *value ? "true" : "false";
}
std::string text_of_default(const std::vector<std::string>* value) {
  return join(*value, ",");
}
std::string text_of_default(const CountOrAll& value) {
  return *value.count == kKeepAllCheckpoints ? "all" : std::to_string(*value.count);
}
std::string text_of_default(const Every* value) {
  return value->text();
}
std::string text_of_default(const std::optional<Until>* value) {
  return *value ? (*value)->text() : "";
}
template <class Number>
std::string text_of_default(const Number* value) {
  return std::to_string(*value);
}
template <class Number>
std::string text_of_default(const std::optional<Number>* value) {
  return *value ? std::to_string(**value) : "";
}

std::string default_of(const OptionRow& row) {
  return std::visit([](const auto& target) { return text_of_default(target); }, row.target);
}

template <class Line>
std::string join_lines(Options& defaults, const Line& line) {
  std::string text;
  for (const OptionRow& row : option_rows(defaults))
    if (row.flag != nullptr) text += line(row, default_of(row)) + "\n";
  return text;
}

}  // namespace

std::string help_text(Options defaults) {
  return "Options of Ratoon. Set each as --flag VALUE, as --flag=VALUE or by its environment variable; a "
         "flag "
         "overrides the variable. If the program has a flag of the same name, write --ratoon-FLAG.\n" +
         join_lines(defaults, [](const OptionRow& row, const std::string& by_default) {
           const std::string shown = by_default.empty() ? "" : " [" + by_default + "]";
           return std::string(row.flag) + ", " + row.variable + ": " + row.meaning + shown;
         });
}

std::string help_table(Options defaults) {
  return join_lines(defaults, [](const OptionRow& row, const std::string& by_default) {
    const std::string shown = by_default.empty() ? "" : "`" + by_default + "`";
    return "| `" + std::string(row.flag) + "` | `" + row.variable + "` | " + shown + " | " + row.meaning +
           " |";
  });
}

}  // namespace ratoon::session
