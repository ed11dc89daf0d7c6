// BestCheckpoints lists the checkpoints that save_best() keeps, and its values of the current step. Rank 0
// decides for all ranks. Each manifest has its lists, so a later rank 0 makes the same decisions.
//
//   best.resume(manifest.run->best);
//   if (best.note("loss", 0.25, {.keep = 3}, is_missing)) ...;         // in a step; all ranks save at its
//   end if (best.is_due()) record.keep = best.take({.attempt = attempt, .step = step}); record.best =
//   best.lists();
//
// Thread contract: the training thread.
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

  // Each rank notes a call of save_best() in the current step. Returns why the call is a configuration error,
  // or an empty text.
  [[nodiscard]] std::string note_call(std::string_view name, const KeepBest& how);
  // Notes a value of the current step. Returns whether the value is among the best values. A value that is
  // not a finite number is never among the best values. Missing checkpoints are removed from the lists first.
  using IsMissing = std::function<bool(const checkpoint::CheckpointId&)>;
  [[nodiscard]] bool note(std::string_view name, double value, const KeepBest& how,
                          const IsMissing& is_missing);
  void forget_missing(const IsMissing& is_missing);
  void end_step() { called_.clear(); }

  // Returns whether a value of the current step is among the best, so that the step is saved.
  [[nodiscard]] bool is_due() const { return !noted_.empty(); }
  // Notes that the current step is saved as `id`. Returns the pin's reason; empty if not is_due().
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

// Returns a text for each list, such as "loss 0.25 at step 40".
[[nodiscard]] std::string describe_best(const std::vector<checkpoint::BestOf>& lists);

}  // namespace ratoon::session
