// The meaning of --resume-from and --skip for a run, given its checkpoints. Pure: every process of a world
// has the same options and sees the same checkpoints. Each process therefore decides alike before it joins,
// and reports all checkpoints but one as given up. Rank 0 of the attempt then records the decision.
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

// kInvalid: the message names the flag and quotes its value.
[[nodiscard]] Result<void> check_rollback(const Options& options);

// The request that a process sends when it joins.
[[nodiscard]] std::optional<RollbackRequest> rollback_wish(const Options& options);

struct RollbackPlan {
  std::vector<checkpoint::Rollback> in_force{};  // made before
  std::optional<checkpoint::CheckpointId> to{};  // the checkpoint of the rollback that is to be made now
  std::optional<checkpoint::Rollback> made{};    // the requested rollback, if it was made before
  friend bool operator==(const RollbackPlan&, const RollbackPlan&) = default;
};

// kNotFound: there is no checkpoint of that step; the message names the steps that exist.
[[nodiscard]] Result<RollbackPlan> plan_rollback(const Options& options, const checkpoint::Inventory& found);

// The checkpoints that may be resumed from: if a rollback is requested, only its checkpoint. The other
// checkpoints are reported as given up.
[[nodiscard]] checkpoint::Inventory narrow(checkpoint::Inventory found, const RollbackPlan& plan);

// The position at which an attempt begins that loaded a checkpoint from before a rollback.
struct RollbackStart {
  checkpoint::Rollback rollback;
  std::uint64_t from = 0;  // slots of the stream: at the checkpoint, and where it goes on
  std::uint64_t to = 0;
  friend bool operator==(const RollbackStart&, const RollbackStart&) = default;
};
// The row of a rollback for the history.
[[nodiscard]] history::Row row_of(const RollbackStart& passed, WallTime at);

// The rollbacks in force for an attempt that has loaded `plan.to`, with the new one, if there is one.
[[nodiscard]] std::vector<checkpoint::Rollback> with_new(const RollbackPlan& plan,
                                                         const checkpoint::Rollback& made);

}  // namespace ratoon::session
