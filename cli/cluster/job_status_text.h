// JobStatusText: makes the output of `ratoon status` for a cluster's jobs: a screen for one job, a table for
// several jobs, JSON, or one line for each job. Between two calls, a JobStatusText keeps only the jobs' rates
// (steps per second).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "cli/cluster/access/explain_refusals.h"
#include "cli/run/run_view.h"
#include "operator/local/folder/progress_rate.h"

namespace ratoon::cli {

enum class JobStatusFormat { kPicture, kSummary, kJson, kJsonLine };

class JobStatusText {
 public:
  // An empty name selects all jobs of the namespace.
  JobStatusText(ClusterQuery query, std::string name) : query_(std::move(query)), name_(std::move(name)) {}

  // Takes the current objects from the API server. Returns an error if an object is not a TrainingJob, or if
  // several jobs have the requested name.
  [[nodiscard]] Result<void> take(const std::vector<nlohmann::json>& objects);
  [[nodiscard]] bool is_empty() const { return jobs_.empty(); }
  [[nodiscard]] bool are_jobs_over() const;
  [[nodiscard]] std::string text(JobStatusFormat kind, WallTime now, std::size_t columns,
                                 std::size_t rows) const;

 private:
  struct Job {
    nlohmann::json document;
    RunView view;
  };
  struct Rate {
    Attempt attempt{0};
    local::ProgressRate rate{};
  };
  const local::ProgressRate& update_progress_rate(const api::TrainingJob& job);
  [[nodiscard]] std::string json_text(bool is_one_line) const;
  [[nodiscard]] std::string summary() const;

  const ClusterQuery query_;
  const std::string name_;
  std::vector<Job> jobs_;
  std::vector<std::string> unreadable_job_errors_;  // errors of objects that are no TrainingJobs
  std::map<JobKey, Rate> rates_;
};

}  // namespace ratoon::cli
