// What --resume-from and --skip mean for a run, given what there is of it. Pure: every process of a world has
// the same options and sees the same checkpoints, so each decides alike before it joins, and says of all but
// one checkpoint that nobody is to pick it. Rank 0 of the attempt then records what was decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/inventory.h"
#include "agent/src/checkpoint/rollback.h"
#include "agent/src/history/line.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// kInvalid: a sentence that names the flag and what it was given.
[[nodiscard]] Result<void> check_rollback(const Options& options);

// As a process says it when it joins.
[[nodiscard]] std::optional<RollbackWish> rollback_wish(const Options& options);

struct RollbackPlan {
  std::vector<checkpoint::Rollback> in_force{};  // that were made before
  std::optional<checkpoint::CheckpointId> to{};  // of the one that is to be made now
  std::optional<checkpoint::Rollback> made{};    // what is wished was made before
  friend bool operator==(const RollbackPlan&, const RollbackPlan&) = default;
};

// kNotFound: no checkpoint of that step is there; the sentence names the steps that are.
[[nodiscard]] Result<RollbackPlan> plan_rollback(const Options& options, const checkpoint::Inventory& found);

// What may be resumed from: where a rollback is to be made, its checkpoint alone. The others are given up, as
// far as who picks is concerned.
[[nodiscard]] checkpoint::Inventory narrow(checkpoint::Inventory found, const RollbackPlan& plan);

// Where an attempt begins that loaded a checkpoint from before a rollback.
struct PassedOver {
  checkpoint::Rollback rollback;
  std::uint64_t from = 0;  // slots: where the stream stood, and where it goes on
  std::uint64_t to = 0;
  friend bool operator==(const PassedOver&, const PassedOver&) = default;
};
// For the history.
[[nodiscard]] history::Row row_of(const PassedOver& passed, WallTime at);

// Those in force for an attempt that has loaded `plan.to`, with the new one, if there is to be one.
[[nodiscard]] std::vector<checkpoint::Rollback> with_new(const RollbackPlan& plan,
                                                         const checkpoint::Rollback& made);

}  // namespace ratoon::session
