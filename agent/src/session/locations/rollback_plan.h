// Decides, from the options --resume-from and --skip and the run's checkpoints, to which checkpoint a run
// goes back (rollback). The functions do no I/O. All processes have the same options and list the same
// checkpoints, so all make the same decision. A joining process reports all other checkpoints as given up, so
// that none resumes from them. At the beginning of the attempt, rank 0 records the rollback.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/format/rollback.h"
#include "agent/src/history/line.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Checks --resume-from and --skip. The message of a kInvalid error names the flag and quotes its value.
[[nodiscard]] Result<void> check_rollback(const Options& options);

// Returns the rollback of --resume-from, which a process requests when it joins.
[[nodiscard]] std::optional<RollbackRequest> requested_rollback(const Options& options);

struct RollbackPlan {
  std::vector<checkpoint::Rollback> earlier_rollbacks{};  // made before
  std::optional<checkpoint::CheckpointId> to{};  // the checkpoint of the rollback that is to be made now
  std::optional<checkpoint::Rollback> existing_rollback{};  // the requested rollback, if it was made before
  friend bool operator==(const RollbackPlan&, const RollbackPlan&) = default;
};

// Returns kNotFound if the step of --resume-from has no checkpoint; the message lists steps that have one.
[[nodiscard]] Result<RollbackPlan> plan_rollback(const Options& options, const checkpoint::Inventory& found);

// Returns the checkpoints from which the run may resume. If a rollback is requested, only the rollback's
// checkpoint is returned. The result marks all other checkpoints as given up, so that no process resumes from
// them.
[[nodiscard]] checkpoint::Inventory restrict_to_plan(checkpoint::Inventory found, const RollbackPlan& plan);

// RollbackStart: the position in the data at which an attempt begins after a rollback.
struct RollbackStart {
  checkpoint::Rollback rollback;
  std::uint64_t from = 0;  // slots of the stream: at the checkpoint, and where it goes on
  std::uint64_t to = 0;
  friend bool operator==(const RollbackStart&, const RollbackStart&) = default;
};
// Returns the row that records a rollback in the run's history.
[[nodiscard]] history::Row row_of(const RollbackStart& passed, WallTime at);

// Returns all rollbacks that apply to an attempt that has loaded the checkpoint `plan.to`, including the new
// one.
[[nodiscard]] std::vector<checkpoint::Rollback> append_rollback(const RollbackPlan& plan,
                                                                const checkpoint::Rollback& made);

}  // namespace ratoon::session
