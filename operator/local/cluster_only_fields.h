// The fields of a job that have no effect on one machine, so that the user is told once.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace ratoon::local {

// One sentence for each such field; none if the job has no such fields.
[[nodiscard]] std::vector<std::string> describe_cluster_only_fields(const api::TrainingJob& job);

}  // namespace ratoon::local
