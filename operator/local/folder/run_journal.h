// RunJournal: the parts of a local run's status.json that are not in the job's status: losses that a user
// caused on purpose, recoveries, progress and speed. The next run in the same folder continues this journal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/local/folder/progress_rate.h"

namespace ratoon::local {

class RunJournal {
 public:
  // The journal keeps at most this many of the newest entries of each kind.
  static constexpr std::size_t kEntriesMax = 100;

  // Restores the entries from the earlier run's status.json; parts may be missing in that file.
  void restore(const nlohmann::json& document);

  void note_recovery(const api::Disruption& recovery);
  // Records a "reclaim" of a node or "kill" of a member; `asked_by` is "command", "every" or "trace".
  void note_loss(WallTime time, const std::string& kind, const std::string& target,
                 std::optional<double> notice_seconds, const std::string& asked_by);
  void note_progress(const std::vector<api::ProcessFacts>& processes, const api::TrainingJobStatus& status,
                     Timestamp now);

  // Returns {"recoveries": [...], "on_purpose": [...], "progress": {...}}
  [[nodiscard]] nlohmann::json describe() const;

 private:
  nlohmann::json recoveries_ = nlohmann::json::array();
  nlohmann::json requested_losses_ = nlohmann::json::array();
  ProgressRate progress_rate_;
  Attempt attempt_{0};
  std::optional<ProgressEstimate> outlook_;
};

}  // namespace ratoon::local
