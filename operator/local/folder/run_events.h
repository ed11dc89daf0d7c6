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
  using WriteLine = std::function<void(const std::string& line)>;  // a JSON object, with its newline

  // Writes no line before begin() is called. `write` must ignore errors, because a run must not end only
  // because its history is incomplete.
  explicit RunEvents(WriteLine write) : write_(std::move(write)) {}

  // `now` is the time in the lines. `at` is the same moment of the monotonic clock, from which RunEvents
  // computes pauses, because `now` may go back.
  void begin(const api::TrainingJob& job, WallTime now, Timestamp at);
  [[nodiscard]] bool has_begun() const { return run_began_.has_value(); }
  // Call observe() after each decision and each observation of the members.
  void observe(const api::TrainingJobStatus& status, const std::vector<api::Pod>& pods, WallTime now,
               Timestamp at);
  // Records a message that was printed for the user.
  void record_message(const std::string& reason, const std::string& message, WallTime now);
  void end(WallTime now);

 private:
  void observe_member(const api::Pod& pod, WallTime now);
  void observe_gone_members(const std::vector<api::Pod>& pods, WallTime now);
  void observe_world(const api::TrainingJobStatus& status, WallTime now);
  void observe_progress(const api::TrainingJobStatus& status, WallTime now, Timestamp at);
  void observe_ledger(const api::JobTimeLedger& ledger, WallTime now);

  WriteLine write_;
  std::optional<Timestamp> run_began_;
  std::map<std::string, std::string> members_;  // name to state
  api::TrainingJobStatus last_status_;
  std::optional<Timestamp> last_step_event_at_;  // when a step was last written
};

}  // namespace ratoon::local
