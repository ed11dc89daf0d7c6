// RunJournal: the parts of a local run's status.json beside the job's own status: losses on purpose,
// recoveries, progress and speed. The next run in the folder continues the journal.
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
  // The number of newest entries that are kept of each kind.
  static constexpr std::size_t kKept = 100;

  // Reads the status.json of the earlier run; missing parts are left out.
  void restore(const nlohmann::json& document);

  void note_recovery(const api::Disruption& recovery);
  // The row is "reclaim" of a node or "kill" of a member; `asked_by` is "command", "every" or "trace".
  void note_loss(WallTime time, const std::string& kind, const std::string& target,
                 std::optional<double> notice_seconds, const std::string& asked_by);
  void note_progress(const std::vector<api::ProcessFacts>& processes, const api::TrainingJobStatus& status,
                     Timestamp now);

  // Returns {"recoveries": [...], "on_purpose": [...], "progress": {...}}
  [[nodiscard]] nlohmann::json describe() const;

 private:
  nlohmann::json recoveries_ = nlohmann::json::array();
  nlohmann::json on_purpose_ = nlohmann::json::array();
  ProgressRate progress_rate_;
  Attempt attempt_{0};
  std::optional<Outlook> outlook_;
};

}  // namespace ratoon::local
