#include "operator/core/policy/restart_rules.h"

#include <algorithm>

namespace ratoon::core {
namespace {

constexpr int kSignalExitBase = 128;

bool contains_code(const std::vector<std::uint32_t>& numbers, int wanted) {
  return wanted > 0 &&
         std::find(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(wanted)) != numbers.end();
}

bool matches_pod(const api::RestartRule& rule, const api::Pod& pod) {
  const bool is_of_role =
      rule.roles.empty() || std::find(rule.roles.begin(), rule.roles.end(), pod.role) != rule.roles.end();
  if (!is_of_role) return false;
  const bool is_reason_listed =
      std::any_of(pod.end_reasons.begin(), pod.end_reasons.end(), [&](const auto& reason) {
        return std::find(rule.reasons.begin(), rule.reasons.end(), reason) != rule.reasons.end();
      });
  if (is_reason_listed || pod.is_evicted || !pod.exit_code) return is_reason_listed;
  return contains_code(rule.exit_codes, *pod.exit_code) ||
         contains_code(rule.signals, *pod.exit_code - kSignalExitBase);
}

}  // namespace

std::optional<MatchedRule> match_restart_rule(const api::RestartPolicy& policy, const api::Pod& pod) {
  const auto met = std::find_if(policy.rules.begin(), policy.rules.end(),
                                [&](const auto& rule) { return matches_pod(rule, pod); });
  if (met == policy.rules.end()) return std::nullopt;
  return MatchedRule{.number = static_cast<std::size_t>(met - policy.rules.begin()), .action = met->action};
}

}  // namespace ratoon::core
