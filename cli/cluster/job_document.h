// A cluster's TrainingJob in the shape in which a local run's folder tells of itself, so that one screen and
// one JSON serve both. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/run/run_view.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

// `job`, `members`, `nodes`, `recoveries` and `progress` as in status.json, as far as the job's status tells;
// `running` says that the job is not over.
[[nodiscard]] nlohmann::json describe_job(const api::TrainingJob& job, std::optional<double> steps_per_second,
                                          std::optional<double> seconds_left);

// A line a job.
[[nodiscard]] std::string jobs_text(const std::vector<RunView>& views, bool with_namespaces);

}  // namespace ratoon::cli
