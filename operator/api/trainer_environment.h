// The environment variables that tell a trainer how to read samples, to save and to resume. On a cluster and
// in a local run, trainers get the same variables.
#pragma once

#include <map>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::api {

// Returns the variables for the job's maxDuration, checkpoint policy and data policy. RATOON_OVERWRITE is
// omitted once a checkpoint of this job is known: a member that is created later must not move this job's own
// checkpoints away.
[[nodiscard]] std::map<std::string, std::string> trainer_environment(const TrainingJob& job);

}  // namespace ratoon::api
