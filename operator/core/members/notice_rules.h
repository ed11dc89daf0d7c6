// Rules by which a node's taints, conditions, labels and annotations, its cordon, deletion or shutdown
// announce that the node will end. Built-in rules know common platforms; an operator's configuration changes
// and adds rules (operator/runtime/notice_config.h).
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

enum class NodeSign : std::uint8_t {
  kTaint,
  kCondition,
  kLabel,
  kAnnotation,
  kCordon,
  kDeletion,
  kShutdown,  // graceful, as the kubelet reports it
};

// How the value of a taint, label or annotation tells a time.
enum class TimeInValue : std::uint8_t { kNone, kUnixSeconds, kRfc3339 };

struct NoticeRule {
  std::string name;
  NodeSign sign = NodeSign::kTaint;
  std::string key{};    // of the taint, label or annotation, or the type of the condition
  std::string value{};  // empty: any; of a condition its status, which is "True" if the value is empty
  // Of a taint. Empty: any effect but PreferNoSchedule, with which autoscalers mark candidates for removal,
  // most of which stay.
  std::string effect{};
  std::map<std::string, std::string> node_labels{};  // the rule applies only to nodes with these labels
  // The time from the sign (such as a taint) to the node's end. Without a value no end is known: each pod
  // then has its own grace period, which begins when the pod gets SIGTERM.
  std::optional<Duration> leaves{};
  // If the value tells a time, `leaves` counts from that time, and the notice begins `lead` before it.
  TimeInValue time_in_value = TimeInValue::kNone;
  Duration lead{0};

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
// apply. If a sign (such as a taint) tells no time, `leaves` counts from `wall_now`.
[[nodiscard]] std::optional<NodeNotice> find_notice(const api::Node& node, const NoticeRules& rules,
                                                    WallTime wall_now);

// Returns when the next notice of this node begins that is announced for a later time.
[[nodiscard]] std::optional<WallTime> next_notice(const api::Node& node, const NoticeRules& rules,
                                                  WallTime wall_now);

// Returns the facts of nodes that the rules read.
[[nodiscard]] api::NodeFactKeys fact_keys_of(const NoticeRules& rules);

// The rules without any configuration; docs/operate/notices.yaml shows them as a file.
[[nodiscard]] const NoticeRules& built_in_notice_rules();

}  // namespace ratoon::core
