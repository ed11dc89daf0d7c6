// Rules by which a node's taints, conditions, labels and annotations, its cordon, deletion or shutdown
// announce that the node will end. The built-in rules are for common platforms; an operator's configuration
// can change and add rules (operator/runtime/notice_config.h).
//
//   const auto notice = find_notice(node, built_in_notice_rules(), wall_now);
//   if (notice) leave(notice->sign, notice->ends_at);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/node.h"

namespace ratoon::core {

// The taint that a simulated node of a local run (`ratoon run`) gets before it ends.
inline constexpr const char* kReclaimTaint = "ratoon.dev/reclaim";

enum class NoticeSource : std::uint8_t {
  kTaint,
  kCondition,
  kLabel,
  kAnnotation,
  kCordon,
  kDeletion,
  kShutdown,  // graceful, as the kubelet reports it
};

// How the value of a taint, label or annotation states a time.
enum class ValueTimeFormat : std::uint8_t { kNone, kUnixSeconds, kRfc3339 };

struct NoticeRule {
  std::string name;
  NoticeSource sign = NoticeSource::kTaint;
  std::string key{};    // of the taint, label or annotation, or the type of the condition
  std::string value{};  // empty: any; of a condition its status, which is "True" if the value is empty
  // The effect of a taint. Empty: any effect except PreferNoSchedule, because autoscalers mark nodes with
  // PreferNoSchedule, and most of these nodes stay.
  std::string effect{};
  std::map<std::string, std::string> node_labels{};  // the rule applies only to nodes with these labels
  // The time from the sign (such as a taint) to the node's end. Without `node_end_after` no end is known:
  // each pod then has its own grace period, which begins when the pod gets SIGTERM.
  std::optional<Duration> node_end_after{};
  // If the value contains a time, `node_end_after` counts from this time, and the notice begins
  // `notice_lead_time` before this time.
  ValueTimeFormat value_time_format = ValueTimeFormat::kNone;
  Duration notice_lead_time{0};

  friend bool operator==(const NoticeRule&, const NoticeRule&) = default;
};

using NoticeRules = std::vector<NoticeRule>;

struct NodeNotice {
  std::string rule;  // its name
  std::string sign;  // in a few words, such as "taint karpenter.sh/disrupted"
  std::optional<WallTime> ends_at{};

  friend bool operator==(const NodeNotice&, const NodeNotice&) = default;
};

// Returns the notice of the first rule that applies to the node, with the earliest end of all rules that
// apply. If a sign (such as a taint) has no time, `node_end_after` counts from `wall_now`.
[[nodiscard]] std::optional<NodeNotice> find_notice(const api::Node& node, const NoticeRules& rules,
                                                    WallTime wall_now);

// Returns when the next notice of the node will begin; notices that have begun already do not count.
[[nodiscard]] std::optional<WallTime> next_notice_time(const api::Node& node, const NoticeRules& rules,
                                                       WallTime wall_now);

// Returns the facts of nodes that the rules read.
[[nodiscard]] api::NodeFactKeys fact_keys_of(const NoticeRules& rules);

// The rules without any configuration; docs/operate/notices.yaml shows them as a file.
[[nodiscard]] const NoticeRules& built_in_notice_rules();

}  // namespace ratoon::core
