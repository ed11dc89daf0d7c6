// The variables that tell a trainer how to read samples, to save and to resume. The variables are the same on
// a cluster and on one machine.
#pragma once

#include <map>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::api {

// The variables of maxDuration and of the checkpoint and data policies. RATOON_OVERWRITE is among them only
// until a checkpoint of this job is known: a member that is created later must not set aside this job's own
// checkpoints.
[[nodiscard]] std::map<std::string, std::string> trainer_environment(const TrainingJob& job);

}  // namespace ratoon::api
