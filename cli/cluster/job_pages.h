// JobPages: what is written of the jobs that somebody asked for, each time that they are looked at: a picture
// of one, a table of several, JSON, or a line each. Pure but for what it remembers of their pace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "cli/cluster/refusals.h"
#include "cli/run/run_view.h"
#include "operator/local/pace.h"

namespace ratoon::cli {

enum class PageKind { kPicture, kSummary, kJson, kJsonLine };

class JobPages {
 public:
  // An empty name: all jobs there.
  JobPages(Asked asked, std::string name) : asked_(std::move(asked)), name_(std::move(name)) {}

  // Takes what the server holds now. An error: one of them is no TrainingJob, or several have the name.
  [[nodiscard]] Result<void> take(const std::vector<nlohmann::json>& objects);
  [[nodiscard]] bool is_empty() const { return jobs_.empty(); }
  [[nodiscard]] bool are_over() const;
  [[nodiscard]] std::string text(PageKind kind, WallTime now, std::size_t columns, std::size_t rows) const;

 private:
  struct Job {
    nlohmann::json document;
    RunView view;
  };
  struct Rate {
    Attempt attempt{0};
    local::Pace pace{};
  };
  const local::Pace& note_pace(const api::TrainingJob& job);
  [[nodiscard]] std::string json_text(bool is_one_line) const;
  [[nodiscard]] std::string summary() const;

  const Asked asked_;
  const std::string name_;
  std::vector<Job> jobs_;
  std::vector<std::string> unreadable_;  // why, of those among many that are no TrainingJobs
  std::map<JobKey, Rate> rates_;
};

}  // namespace ratoon::cli
