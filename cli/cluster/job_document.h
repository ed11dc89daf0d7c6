// Converts a cluster's TrainingJob to the JSON format of a local run's status.json, so that the code for
// screens and JSON output is the same for both. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/run/run_view.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

// Returns the JSON keys `job`, `members`, `nodes`, `recoveries` and `progress` of status.json, as far as the
// job's status contains their values. The field `running` is true until the job has succeeded or failed.
[[nodiscard]] nlohmann::json describe_job(const api::TrainingJob& job, std::optional<double> steps_per_second,
                                          std::optional<double> seconds_left);

// Prints one line per job.
[[nodiscard]] std::string jobs_text(const std::vector<RunView>& views, bool with_namespaces);

}  // namespace ratoon::cli
