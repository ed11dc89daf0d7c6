// RunEvents: writes the history of a run, events.jsonl, because status.json has only the current state. Each
// change since the last observation becomes a line; docs/reference/events.md lists the kinds of lines.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class RunEvents {
 public:
  using Write = std::function<void(const std::string& line)>;  // a JSON object, with its newline

  // Writes nothing before begin(). `write` must ignore errors, because a run must not end only because its
  // history is incomplete.
  explicit RunEvents(Write write) : write_(std::move(write)) {}

  void begin(const api::TrainingJob& job, WallTime now);
  [[nodiscard]] bool has_begun() const { return began_.has_value(); }
  // Call this after each decision and each observation of the members.
  void observe(const api::TrainingJobStatus& status, const std::vector<api::Pod>& pods, WallTime now);
  // Records a message that was printed for the user.
  void tell(const std::string& reason, const std::string& message, WallTime now);
  void end(WallTime now);

 private:
  void observe_member(const api::Pod& pod, WallTime now);
  void observe_gone(const std::vector<api::Pod>& pods, WallTime now);
  void observe_world(const api::TrainingJobStatus& status, WallTime now);
  void observe_progress(const api::TrainingJobStatus& status, WallTime now);
  void observe_ledger(const api::JobLedger& ledger, WallTime now);

  Write write_;
  std::optional<WallTime> began_;
  std::map<std::string, std::string> members_;  // name to state
  api::TrainingJobStatus seen_;
  std::optional<WallTime> stepped_;  // when a step was last written
};

}  // namespace ratoon::local
