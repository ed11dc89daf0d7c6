// Finds the fields of a job that have no effect in a local run, so that `ratoon run` can tell the user so.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace ratoon::local {

// Returns one sentence for each field of the job that has no effect in a local run.
[[nodiscard]] std::vector<std::string> describe_cluster_only_fields(const api::TrainingJob& job);

}  // namespace ratoon::local
