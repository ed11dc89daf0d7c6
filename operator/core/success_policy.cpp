#include "operator/core/success_policy.h"

#include <algorithm>

#include "operator/core/roster.h"

namespace ratoon::core {

bool has_succeeded(const Observation& seen, const std::vector<api::MemberStatus>& members) {
  const auto& roles = seen.job.spec.success_policy.roles;
  return std::all_of(members.begin(), members.end(), [&](const auto& member) {
    const bool decides = roles.empty() || std::find(roles.begin(), roles.end(), member.role) != roles.end();
    return !decides || member.is_absent || is_completed(seen, member);
  });
}

}  // namespace ratoon::core
