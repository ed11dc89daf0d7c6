// Decides what --resume-from and --skip mean for a run, given its checkpoints. Pure: every process of a world
// has the same options and sees the same checkpoints. Each process thus makes the same decision, and reports
// all other checkpoints as given up when it joins. When the attempt begins, rank 0 records the decision.
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

// The message of kInvalid names the flag and quotes its value.
[[nodiscard]] Result<void> check_rollback(const Options& options);

// Returns the rollback that a process requests when it joins.
[[nodiscard]] std::optional<RollbackRequest> rollback_wish(const Options& options);

struct RollbackPlan {
  std::vector<checkpoint::Rollback> in_force{};  // made before
  std::optional<checkpoint::CheckpointId> to{};  // the checkpoint of the rollback that is to be made now
  std::optional<checkpoint::Rollback> made{};    // the requested rollback, if it was made before
  friend bool operator==(const RollbackPlan&, const RollbackPlan&) = default;
};

// Returns kNotFound if the step has no checkpoint; the message names the steps that exist.
[[nodiscard]] Result<RollbackPlan> plan_rollback(const Options& options, const checkpoint::Inventory& found);

// Returns the checkpoints that may be resumed from: only the rollback's checkpoint, if a rollback is
// requested. The checkpoints that narrow() leaves out are reported as given up.
[[nodiscard]] checkpoint::Inventory narrow(checkpoint::Inventory found, const RollbackPlan& plan);

// RollbackStart: the position at which an attempt begins that loaded a checkpoint from before a rollback.
struct RollbackStart {
  checkpoint::Rollback rollback;
  std::uint64_t from = 0;  // slots of the stream: at the checkpoint, and where it goes on
  std::uint64_t to = 0;
  friend bool operator==(const RollbackStart&, const RollbackStart&) = default;
};
// Returns the row of the history that records a rollback.
[[nodiscard]] history::Row row_of(const RollbackStart& passed, WallTime at);

// Returns the rollbacks in force for an attempt that has loaded `plan.to`, its own rollback included.
[[nodiscard]] std::vector<checkpoint::Rollback> with_new(const RollbackPlan& plan,
                                                         const checkpoint::Rollback& made);

}  // namespace ratoon::session
