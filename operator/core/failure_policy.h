// Failure policy: which failures can fail the job. A member of another role that fails is made anew after a
// pause, however often: an evaluator that cannot start is no reason to give up what trains.
#pragma once

#include <string>

#include "operator/api/training_job.h"
#include "operator/core/classify.h"

namespace ratoon::core {

// Whether failures of this role's members use up maxRestarts and can fail the job.
[[nodiscard]] bool can_fail_job(const api::TrainingJobSpec& spec, const std::string& role);

// What an ending of a member of this role is taken for.
[[nodiscard]] Ending judge(const api::TrainingJobSpec& spec, const std::string& role, Ending ending);

}  // namespace ratoon::core
