// The fields of a job that have no effect on one machine. The user is told about these fields once.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace ratoon::local {

// Returns one sentence for each such field.
[[nodiscard]] std::vector<std::string> describe_cluster_only_fields(const api::TrainingJob& job);

}  // namespace ratoon::local
