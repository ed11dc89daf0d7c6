#include "operator/runtime/notice_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/core/split_join.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"
#include "operator/runtime/api_server/read_yaml.h"

namespace ratoon::runtime {
namespace {

using core::NoticeRule;
using core::NoticeSource;
using core::ValueTimeFormat;
using nlohmann::json;

constexpr const char* kNoticesVersion = "operator.ratoon.dev/v1alpha1";
constexpr const char* kNoticesKind = "NoticeRules";
constexpr std::uint64_t kSecondsMax = 7 * 24 * 3600;
constexpr std::size_t kTextBytesMax = 317;  // a prefix of 253 bytes, a slash and a name of 63 bytes
constexpr std::size_t kRuleNameBytesMax = 63;
constexpr std::size_t kNodeLabelsMax = 8;
constexpr std::size_t kQuotedBytesMax = 60;

template <class Value>
using NamedValue = std::pair<std::string_view, Value>;
constexpr std::array<NamedValue<NoticeSource>, 7> kNoticeSources = {
    {{"Taint", NoticeSource::kTaint},
     {"Condition", NoticeSource::kCondition},
     {"Label", NoticeSource::kLabel},
     {"Annotation", NoticeSource::kAnnotation},
     {"Cordon", NoticeSource::kCordon},
     {"Deletion", NoticeSource::kDeletion},
     {"Shutdown", NoticeSource::kShutdown}}};
constexpr std::array<NamedValue<ValueTimeFormat>, 2> kTimeFormats = {
    {{"UnixSeconds", ValueTimeFormat::kUnixSeconds}, {"RFC3339", ValueTimeFormat::kRfc3339}}};
constexpr std::array<std::string_view, 3> kTaintEffects = {"NoSchedule", "NoExecute", "PreferNoSchedule"};
constexpr std::array<std::string_view, 10> kRuleFields = {
    "name",       "sign",    "key",         "value",       "effect",
    "nodeLabels", "seconds", "timeInValue", "leadSeconds", "enabled"};

bool has_text(const auto& texts, const std::string& text) {
  return std::ranges::find(texts, std::string_view(text)) != texts.end();
}

// YAML reads "true" and "false" as booleans, even where they are values of labels.
std::optional<std::string> label_text(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kTextBytesMax) return std::nullopt;
  return value.get<std::string>();
}

bool is_rule_name(const std::string& name) {
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kRuleNameBytesMax && std::ranges::all_of(name, is_allowed);
}

// Returns the choice whose name is `value`, or nothing if no choice has this name.
template <class Choices>
auto find_choice(const Choices& choices, const json& value)
    -> std::optional<typename Choices::value_type::second_type> {
  const auto text = label_text(value);
  for (const auto& [name, choice] : choices)
    if (text && *text == name) return choice;
  return std::nullopt;
}

std::string choice_names(const auto& choices) {
  return join(choices, ", ", [](const auto& choice) { return choice.first; });
}

// Reads all fields of one rule, and reports only the first problem.
class RuleReader {
 public:
  RuleReader(const json& rule, std::string place) : rule_(rule), place_(std::move(place)) {}

  [[nodiscard]] Result<NoticeRule> read() {
    NoticeRule rule{.name = read_name()};
    read_sign(rule);
    read_string_list(rule);
    read_node_labels(rule);
    read_times(rule);
    if (!problem_.empty()) return Error(ErrorKind::kInvalid, problem_);
    return rule;
  }

  // Returns the name of a built-in rule that the file removes, or nothing.
  [[nodiscard]] Result<std::optional<std::string>> read_removed() {
    if (!rule_.is_object()) {
      refuse("", "an object with the fields " + join(kRuleFields, ", "), rule_);
    } else {
      for (const auto& [field, value] : rule_.items())
        if (!has_text(kRuleFields, field))
          note(place_ + "." + cut_text(field, kQuotedBytesMax) +
               " is not a field of a rule; the fields are " + join(kRuleFields, ", "));
      const std::string name = read_name();
      const auto enabled = rule_.find("enabled");
      if (enabled != rule_.end() && !enabled->is_boolean()) refuse("enabled", "true or false", *enabled);
      if (problem_.empty() && enabled != rule_.end() && !enabled->get<bool>()) {
        if (rule_.size() != 2)
          note(place_ + " has enabled: false, so it must have no fields but name and enabled");
        if (problem_.empty()) return std::optional<std::string>(name);
      }
    }
    if (!problem_.empty()) return Error(ErrorKind::kInvalid, problem_);
    return std::optional<std::string>();
  }

 private:
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void refuse(const std::string& field, const std::string& expected, const json& found) {
    note(place_ + (field.empty() ? "" : "." + field) + " must be " + expected + ", found " +
         cut_text(kube::dump(found), kQuotedBytesMax));
  }

  [[nodiscard]] const json* find(const char* field) const {
    const auto found = rule_.find(field);
    return found == rule_.end() ? nullptr : &*found;
  }

  // Refuses a field that has no effect on this rule.
  void refuse_if_set(const char* field, const std::string& belongs_to) {
    if (find(field) != nullptr)
      note(place_ + "." + field + " has an effect only in " + belongs_to + ": remove it");
  }

  std::string read_name() {
    const json& found = kube::child(rule_, "name");
    const std::string name = label_text(found).value_or("");
    if (!is_rule_name(name)) refuse("name", "1 to 63 small letters, digits and '-'", found);
    return name;
  }

  void read_sign(NoticeRule& rule) {
    const json& found = kube::child(rule_, "sign");
    const auto sign = find_choice(kNoticeSources, found);
    if (!sign) return refuse("sign", "one of " + choice_names(kNoticeSources), found);
    rule.sign = *sign;
  }

  void read_text(const char* field, std::string& into) {
    const json* found = find(field);
    if (found == nullptr) return;
    const auto text = label_text(*found);
    if (!text || text->empty())
      return refuse(field, "a text of 1 to " + std::to_string(kTextBytesMax) + " bytes", *found);
    into = *text;
  }

  void read_string_list(NoticeRule& rule) {
    const bool has_key = rule.sign == NoticeSource::kTaint || rule.sign == NoticeSource::kCondition ||
                         rule.sign == NoticeSource::kLabel || rule.sign == NoticeSource::kAnnotation;
    if (!has_key) {
      for (const char* field : {"key", "value"})
        refuse_if_set(field, "rules with the signs Taint, Condition, Label and Annotation");
    } else if (find("key") == nullptr) {
      refuse("key", "the key of the taint, label or annotation, or the type of the condition", json());
    }
    read_text("key", rule.key);
    read_text("value", rule.value);
    if (rule.sign != NoticeSource::kTaint) refuse_if_set("effect", "rules with the sign Taint");
    read_text("effect", rule.effect);
    if (!rule.effect.empty() && !has_text(kTaintEffects, rule.effect))
      refuse("effect", "one of " + join(kTaintEffects, ", "), rule.effect);
  }

  void read_node_labels(NoticeRule& rule) {
    const json* found = find("nodeLabels");
    if (found == nullptr) return;
    const char* expected = "1 to 8 labels, each with a value, or with '' for any value";
    if (!found->is_object() || found->empty() || found->size() > kNodeLabelsMax)
      return refuse("nodeLabels", expected, *found);
    for (const auto& [label, value] : found->items()) {
      const auto text = label_text(value);
      if (!text || label.empty() || label.size() > kTextBytesMax)
        return refuse("nodeLabels", expected, *found);
      rule.node_labels[label] = *text;
    }
  }

  std::optional<Duration> read_seconds(const char* field, std::uint64_t min) {
    const json* found = find(field);
    if (found == nullptr) return std::nullopt;
    const auto whole = found->is_string() ? kube::parse_unsigned(found->get<std::string>()) : std::nullopt;
    if (whole && *whole >= min && *whole <= kSecondsMax) return std::chrono::seconds(*whole);
    refuse(field, "a whole number from " + std::to_string(min) + " to " + std::to_string(kSecondsMax),
           *found);
    return std::nullopt;
  }

  void read_times(NoticeRule& rule) {
    if (const json* found = find("timeInValue")) {
      const auto format = find_choice(kTimeFormats, *found);
      if (!format) return refuse("timeInValue", "one of " + choice_names(kTimeFormats), *found);
      rule.value_time_format = *format;
      if (rule.key.empty() || rule.sign == NoticeSource::kCondition)
        refuse_if_set("timeInValue", "rules with the signs Taint, Label and Annotation");
      refuse_if_set("value", "rules without timeInValue (with it, the value is a time)");
    } else {
      refuse_if_set("leadSeconds", "rules with timeInValue");
    }
    rule.node_end_after = read_seconds("seconds", rule.value_time_format == ValueTimeFormat::kNone ? 1 : 0);
    rule.notice_lead_time = read_seconds("leadSeconds", 0).value_or(Duration(0));
  }

  const json& rule_;
  const std::string place_;
  std::string problem_;
};

Result<void> apply_rule(const json& item, const std::string& place, core::NoticeRules& rules) {
  RuleReader reader(item, place);
  const auto removed = reader.read_removed();
  if (!removed) return removed.error();
  if (*removed) {
    if (std::erase_if(rules, [&](const auto& rule) { return rule.name == **removed; }) > 0) return {};
    return Error(ErrorKind::kInvalid,
                 place +
                     ".name must be the name of a built-in rule, since enabled is false; "
                     "found " +
                     **removed + ", and the built-in rules are " +
                     join(core::built_in_notice_rules(), ", ", &NoticeRule::name));
  }
  auto read = reader.read();
  if (!read) return read.error();
  const auto known = std::ranges::find(rules, read->name, &NoticeRule::name);
  if (known == rules.end())
    rules.push_back(std::move(*read));
  else
    *known = std::move(*read);
  return {};
}

}  // namespace

Result<core::NoticeRules> apply_notice_rules(const json& document, core::NoticeRules rules) {
  if (kube::string_field(document, "apiVersion") != kNoticesVersion ||
      kube::string_field(document, "kind") != kNoticesKind)
    return Error(ErrorKind::kInvalid, std::string("the file must begin with apiVersion: ") + kNoticesVersion +
                                          " and kind: " + kNoticesKind);
  for (const auto& [field, value] : document.items())
    if (field != "apiVersion" && field != "kind" && field != "rules")
      return Error(ErrorKind::kInvalid,
                   cut_text(field, kQuotedBytesMax) +
                       " is not a field of this file; the fields are apiVersion, kind, rules");
  const json& items = kube::child(document, "rules");
  if (!items.is_array() || items.size() > kNoticeRulesMax)
    return Error(ErrorKind::kInvalid, "rules must be a list of at most " + std::to_string(kNoticeRulesMax) +
                                          " rules, found " + cut_text(kube::dump(items), kQuotedBytesMax));
  std::set<std::string> names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "rules[" + std::to_string(i) + "]";
    if (auto applied = apply_rule(items[i], place, rules); !applied) return applied.error();
    const std::string name = *label_text(items[i]["name"]);
    if (!names.insert(name).second)
      return Error(ErrorKind::kInvalid,
                   place + ".name must be unique in this file, found " + name + " again");
  }
  return rules;
}

Result<core::NoticeRules> read_notice_rules(const std::string& path) {
  if (path.empty()) return core::built_in_notice_rules();
  const auto document = read_yaml(path);
  if (!document) return Error(ErrorKind::kInvalid, "reading notice rules: " + document.error().message());
  auto rules = apply_notice_rules(*document, core::built_in_notice_rules());
  if (!rules) return rules.error().with_context(path);
  return rules;
}

}  // namespace ratoon::runtime
