#include "operator/core/members/notice_rules.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/core/utf8.h"
#include "operator/core/wake_time.h"

namespace ratoon::core {
namespace {

constexpr const char* kPreferNoSchedule = "PreferNoSchedule";

// One taint, label or other fact of a node to which a rule applies.
struct RuleMatch {
  std::string text;
  std::string value{};
  std::optional<WallTime> since{};
};

bool matches_value(const std::string& wanted, const std::string& found) {
  return wanted.empty() || wanted == found;
}

std::optional<RuleMatch> find_taint(const api::Node& node, const NoticeRule& rule) {
  for (const auto& taint : node.taints) {
    const bool has_effect =
        rule.effect.empty() ? taint.effect != kPreferNoSchedule : taint.effect == rule.effect;
    if (taint.key == rule.key && has_effect && matches_value(rule.value, taint.value))
      return RuleMatch{.text = "taint " + taint.key, .value = taint.value, .since = taint.added_at};
  }
  return std::nullopt;
}

std::optional<RuleMatch> find_condition(const api::Node& node, const NoticeRule& rule) {
  const std::string status = rule.value.empty() ? "True" : rule.value;
  for (const auto& condition : node.conditions)
    if (condition.type == rule.key && condition.status == status)
      return RuleMatch{.text = "condition " + condition.type + " is " + status,
                       .value = condition.status,
                       .since = condition.since};
  return std::nullopt;
}

std::optional<RuleMatch> find_label_or_annotation(const std::map<std::string, std::string>& facts,
                                                  const char* word, const NoticeRule& rule) {
  constexpr std::size_t kShownBytesMax = 60;
  const auto found = facts.find(rule.key);
  if (found == facts.end() || !matches_value(rule.value, found->second)) return std::nullopt;
  return RuleMatch{.text = std::string(word) + " " + rule.key + "=" + cut_text(found->second, kShownBytesMax),
                   .value = found->second};
}

std::optional<RuleMatch> match_rule(const api::Node& node, const NoticeRule& rule) {
  const auto if_true = [](bool is_true, std::string text, std::optional<WallTime> since = {}) {
    return is_true ? std::optional(RuleMatch{.text = std::move(text), .since = since}) : std::nullopt;
  };
  switch (rule.sign) {
    case NoticeSource::kTaint:
      return find_taint(node, rule);
    case NoticeSource::kCondition:
      return find_condition(node, rule);
    case NoticeSource::kLabel:
      return find_label_or_annotation(node.labels, "label", rule);
    case NoticeSource::kAnnotation:
      return find_label_or_annotation(node.annotations, "annotation", rule);
    case NoticeSource::kCordon:
      return if_true(node.is_unschedulable, "it is cordoned");
    case NoticeSource::kDeletion:
      return if_true(node.is_deleting, "it is being deleted");
    case NoticeSource::kShutdown:
      return if_true(node.is_shutting_down, "it is shutting down", node.shutting_down_since);
  }
  return std::nullopt;
}

bool has_labels(const api::Node& node, const NoticeRule& rule) {
  return std::ranges::all_of(rule.node_labels, [&](const auto& wanted) {
    const auto found = node.labels.find(wanted.first);
    return found != node.labels.end() && matches_value(wanted.second, found->second);
  });
}

std::optional<WallTime> read_time(ValueTimeFormat format, std::string_view text) {
  if (format == ValueTimeFormat::kRfc3339) return parse_rfc3339(text);
  constexpr std::uint64_t kSecondsMax = 8'000'000'000;  // a later time overflows nanoseconds
  std::uint64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc() || end != text.data() + text.size() || whole > kSecondsMax) return std::nullopt;
  return WallTime{std::chrono::seconds(whole)};
}

// When the notice of the rule begins, and when the node ends; nothing if the rule does not apply to the node.
struct NoticeTimes {
  std::string sign;
  std::optional<WallTime> begins_at{};  // if the value tells a time
  std::optional<WallTime> ends_at{};
};

std::optional<NoticeTimes> find_notice_times(const api::Node& node, const NoticeRule& rule,
                                             WallTime wall_now) {
  if (!has_labels(node, rule)) return std::nullopt;
  auto sign = match_rule(node, rule);
  if (!sign) return std::nullopt;
  NoticeTimes times{.sign = std::move(sign->text)};
  if (rule.value_time_format == ValueTimeFormat::kNone) {
    if (rule.node_end_after)
      times.ends_at = WallTime{sign->since.value_or(wall_now).since_epoch + *rule.node_end_after};
    return times;
  }
  const auto told = read_time(rule.value_time_format, sign->value);
  if (!told) return std::nullopt;
  times.begins_at = WallTime{told->since_epoch - rule.notice_lead_time};
  if (rule.node_end_after) times.ends_at = WallTime{told->since_epoch + *rule.node_end_after};
  // The node exists although its announced end has passed: ignore the notice, so that members stay there.
  if (times.ends_at && *times.ends_at <= wall_now) return std::nullopt;
  return times;
}

}  // namespace

std::optional<NodeNotice> find_notice(const api::Node& node, const NoticeRules& rules, WallTime wall_now) {
  std::optional<NodeNotice> notice;
  for (const auto& rule : rules) {
    auto times = find_notice_times(node, rule, wall_now);
    if (!times || times->begins_at.value_or(wall_now) > wall_now) continue;
    if (!notice) notice = NodeNotice{.rule = rule.name, .sign = std::move(times->sign)};
    notice->ends_at = earlier(notice->ends_at, times->ends_at);
  }
  return notice;
}

std::optional<WallTime> next_notice_time(const api::Node& node, const NoticeRules& rules, WallTime wall_now) {
  std::optional<WallTime> next;
  for (const auto& rule : rules) {
    const auto times = find_notice_times(node, rule, wall_now);
    if (times && times->begins_at && *times->begins_at > wall_now) next = earlier(next, times->begins_at);
  }
  return next;
}

api::NodeFactKeys fact_keys_of(const NoticeRules& rules) {
  api::NodeFactKeys keys;
  for (const auto& rule : rules) {
    if (rule.sign == NoticeSource::kLabel) keys.labels.insert(rule.key);
    if (rule.sign == NoticeSource::kAnnotation) keys.annotations.insert(rule.key);
    if (rule.sign == NoticeSource::kCondition) keys.conditions.insert(rule.key);
    for (const auto& [label, value] : rule.node_labels) keys.labels.insert(label);
  }
  return keys;
}

}  // namespace ratoon::core
