// RunBook: what the folder of a local run tells beside the job's own status: what was done to the run on
// purpose, what it recovered from, how far and how fast it is. It goes on with the next run in the folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/local/pace.h"

namespace ratoon::local {

class RunBook {
 public:
  // Of each kind so many are kept, the newest ones.
  static constexpr std::size_t kKept = 100;

  // From the status.json of the run before; what it does not have is left out.
  void restore(const nlohmann::json& document);

  void note_recovery(const api::Disruption& recovery);
  // "reclaim" of a node or "kill" of a member; `asked_by`: "command", "every" or "trace".
  void note_loss(WallTime time, const std::string& kind, const std::string& target,
                 std::optional<double> notice_seconds, const std::string& asked_by);
  void note_progress(const std::vector<api::ProcessFacts>& processes, const api::TrainingJobStatus& status,
                     Timestamp now);

  // {"recoveries": [...], "on_purpose": [...], "progress": {...}}
  [[nodiscard]] nlohmann::json describe() const;

 private:
  nlohmann::json recoveries_ = nlohmann::json::array();
  nlohmann::json on_purpose_ = nlohmann::json::array();
  Pace pace_;
  Attempt attempt_{0};
  std::optional<Outlook> outlook_;
};

}  // namespace ratoon::local
