// What a trainer is told of its samples and of how to save and to resume, the same on a cluster and on one
// machine.
#pragma once

#include <map>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::api {

// The variables of maxDuration and of the checkpoint and data policies. RATOON_OVERWRITE is among them only
// until a checkpoint of this job is known: members made later have nothing to set aside but their own job's
// work.
[[nodiscard]] std::map<std::string, std::string> trainer_environment(const TrainingJob& job);

}  // namespace ratoon::api
