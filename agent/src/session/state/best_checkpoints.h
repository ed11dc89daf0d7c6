// BestCheckpoints: the lists of checkpoints that Session::save_best() keeps, and the values that save_best()
// received in the current step. Rank 0 decides for all ranks which checkpoints to keep. The manifest of each
// checkpoint contains the lists, so another process that becomes rank 0 makes the same decisions.
//
//   best.resume(manifest.run->best);
//   if (best.note_value("loss", 0.25, {.keep = 3}, is_missing)) ...;  // in a step; all ranks save at its end
//   if (best.is_due()) record.keep = best.record_saved({.attempt = attempt, .step = step});
//   record.best = best.lists();
//
// Thread contract: only the training thread uses a BestCheckpoints.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/session/keep_best.h>

#include "agent/src/checkpoint/format/run_record.h"

namespace ratoon::session {

class BestCheckpoints {
 public:
  void resume(std::vector<checkpoint::BestCheckpointList> lists);

  // Records a call of save_best() in the current step, on each rank. Returns the reason if the call is a
  // configuration error, otherwise an empty text.
  [[nodiscard]] std::string note_save_best_call(std::string_view name, const KeepBest& how);
  // Records a value of the current step, on rank 0. Returns whether the value is among the best values so
  // far. An infinite value or NaN is never among the best values. Before it compares the value, note_value()
  // removes missing checkpoints from the lists.
  using IsMissing = std::function<bool(const checkpoint::CheckpointId&)>;
  [[nodiscard]] bool note_value(std::string_view name, double value, const KeepBest& how,
                                const IsMissing& is_missing);
  void remove_missing(const IsMissing& is_missing);
  void end_step() { names_called_in_step_.clear(); }

  // Returns whether a value of the current step is among the best, so that this step must be saved.
  [[nodiscard]] bool is_due() const { return !values_of_step_.empty(); }
  // Records that the current step is saved as checkpoint `id`. Returns the reason with which to pin the
  // checkpoint; empty if is_due() is false.
  [[nodiscard]] std::string record_saved(const checkpoint::CheckpointId& id);

  [[nodiscard]] const std::vector<checkpoint::BestCheckpointList>& lists() const { return lists_; }
  // Returns a text with the best checkpoint of each list, such as "loss 0.25 at step 40". BestCheckpoints
  // makes the text when a list changes, because the engine reads the text after every step.
  [[nodiscard]] const std::string& text() const { return summary_; }

 private:
  struct StepValue {
    double value;
    KeepBest how;
  };
  [[nodiscard]] const checkpoint::BestCheckpointList* find(std::string_view name) const;
  void update_summary();

  std::vector<checkpoint::BestCheckpointList> lists_;
  std::string summary_;
  std::map<std::string, StepValue, std::less<>> values_of_step_;  // in the current step
  std::set<std::string, std::less<>> names_called_in_step_;       // in the current step
};

}  // namespace ratoon::session
