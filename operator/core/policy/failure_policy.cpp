#include "operator/core/policy/failure_policy.h"

#include <algorithm>

namespace ratoon::core {

bool can_fail_job(const api::TrainingJobSpec& spec, const std::string& role) {
  const auto& roles = spec.failure_policy.roles;
  return roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
}

MemberEnd apply_failure_policy(const api::TrainingJobSpec& spec, const std::string& role, MemberEnd ending) {
  if (ending.cause != EndCause::kFatal || can_fail_job(spec, role)) return ending;
  ending.cause = EndCause::kApplication;
  ending.explanation += " (failurePolicy: role " + role + " cannot fail the job)";
  return ending;
}

}  // namespace ratoon::core
