// BestCheckpoints: the lists of checkpoints that Session::save_best() keeps, and the values that it received
// in the current step. Rank 0 decides for all ranks which checkpoints to keep. The manifest of each
// checkpoint contains the lists, so another process that becomes rank 0 makes the same decisions.
//
//   best.resume(manifest.run->best);
//   if (best.note("loss", 0.25, {.keep = 3}, is_missing)) ...;         // in a step; all ranks save at its
//   end if (best.is_due()) record.keep = best.take({.attempt = attempt, .step = step}); record.best =
//   best.lists();
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
  void resume(std::vector<checkpoint::BestOf> lists) { lists_ = std::move(lists); }

  // Records a call of save_best() in the current step, on each rank. Returns the reason if the call is a
  // configuration error, otherwise an empty text.
  [[nodiscard]] std::string note_call(std::string_view name, const KeepBest& how);
  // Records a value of the current step, on rank 0. Returns whether the value is among the best values so
  // far. An infinite value or NaN is never among the best values. Before the comparison, missing checkpoints
  // are removed from the lists.
  using IsMissing = std::function<bool(const checkpoint::CheckpointId&)>;
  [[nodiscard]] bool note(std::string_view name, double value, const KeepBest& how,
                          const IsMissing& is_missing);
  void forget_missing(const IsMissing& is_missing);
  void end_step() { called_.clear(); }

  // Returns whether a value of the current step is among the best, so that this step must be saved.
  [[nodiscard]] bool is_due() const { return !noted_.empty(); }
  // Records that the current step is saved as checkpoint `id`. Returns the reason with which to pin the
  // checkpoint; empty if is_due() is false.
  [[nodiscard]] std::string take(const checkpoint::CheckpointId& id);

  [[nodiscard]] const std::vector<checkpoint::BestOf>& lists() const { return lists_; }

 private:
  struct Noted {
    double value;
    KeepBest how;
  };
  [[nodiscard]] const checkpoint::BestOf* find(std::string_view name) const;

  std::vector<checkpoint::BestOf> lists_;
  std::map<std::string, Noted, std::less<>> noted_;  // in the current step
  std::set<std::string, std::less<>> called_;        // in the current step
};

// Returns a text with the checkpoints of all lists, such as "loss 0.25 at step 40".
[[nodiscard]] std::string describe_best(const std::vector<checkpoint::BestOf>& lists);

}  // namespace ratoon::session
