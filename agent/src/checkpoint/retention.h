// Which checkpoints may go, and their going.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {

struct KeepRules {
  std::uint64_t last = 2;         // at least one is kept always
  std::uint64_t every_steps = 0;  // and each whose step is a multiple; 0: none
};

// Those of `newest_first` that the rules let go. Never one of an attempt newer than `own`: whoever is behind
// the world does not clean up for it.
[[nodiscard]] std::vector<CheckpointId> choose_retired(std::span<const CheckpointId> newest_first,
                                                       const KeepRules& rules, Attempt own);

// Removes one: its manifest first, so that from then on it does not exist, whatever is left of it.
[[nodiscard]] Result<void> remove_checkpoint(Disk& disk, const CheckpointId& id);

// Takes a checkpoint whose bytes are bad out of the choice: its manifest goes to quarantine with the reason
// beside it; nothing is deleted. That of another caller at the same moment counts as ours.
[[nodiscard]] Result<void> set_aside(Disk& disk, const CheckpointId& id, std::string_view reason,
                                     std::string_view mark);

// Removes what attempts before `own` wrote and never committed, temporary files included. For a world that
// has committed: a late writer of an older attempt can then change nothing that anybody would choose.
[[nodiscard]] Result<void> sweep_uncommitted(Disk& disk, Attempt own);

}  // namespace ratoon::checkpoint
