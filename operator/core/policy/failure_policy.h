// operator/core/policy/: the policies of a job's spec, one file for each. The failure policy names the roles
// whose failures can fail the job. The operator replaces failed members of other roles after a pause, any
// number of times. For example, an evaluator that cannot start does not stop the training.
#pragma once

#include <string>

#include "operator/api/training_job.h"
#include "operator/core/loss/classify.h"

namespace ratoon::core {

// Returns whether failures of this role's members use up maxRestarts and can fail the job.
[[nodiscard]] bool can_fail_job(const api::TrainingJobSpec& spec, const std::string& role);

// Returns how the end of a member of this role counts under the failure policy.
[[nodiscard]] MemberEnd apply_failure_policy(const api::TrainingJobSpec& spec, const std::string& role,
                                             MemberEnd ending);

}  // namespace ratoon::core
