#include "operator/core/policy/success_policy.h"

#include <algorithm>

#include "operator/core/members/completion.h"

namespace ratoon::core {
namespace {

bool is_deciding_member(const Observation& seen, const api::MemberStatus& member) {
  const auto& roles = seen.job.spec.success_policy.roles;
  return roles.empty() || std::find(roles.begin(), roles.end(), member.role) != roles.end();
}

}  // namespace

bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  bool is_any_completed = false;
  for (const auto& member : members) {
    if (!is_deciding_member(seen, member)) continue;
    const bool is_done = is_completed(seen, member);
    if (!is_done && !member.is_absent) return false;
    is_any_completed = is_any_completed || is_done;
  }
  return is_any_completed;
}

}  // namespace ratoon::core
