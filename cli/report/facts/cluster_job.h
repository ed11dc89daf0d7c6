// Reads facts for a report from a cluster's TrainingJob: only the job's status, and not the run's own files,
// contains the job's time, losses and failures.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "cli/report/facts/run_facts.h"
#include "operator/api/training_job.h"

namespace ratoon::cli {

// Reads the job from JSON text or, if `given` does not begin with '{', from the file of that name. `kubectl
// get trainingjob NAME --output json` prints such text.
[[nodiscard]] Result<api::TrainingJob> read_cluster_job(const std::string& given);

// Adds the facts of the job's status. `now` is the end of the known time of a job that is not over.
void add_cluster_job(const api::TrainingJob& job, WallTime now, RunFacts& facts);

// Returns the job's document without the parts that add_cluster_job() does not read, such as the templates of
// pods: the text fits into one argument of a program.
[[nodiscard]] nlohmann::json job_for_report(const api::TrainingJob& job);

}  // namespace ratoon::cli
