// Which checkpoints may go, and their going.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {

inline constexpr std::uint64_t kKeepAll = ~std::uint64_t{0};

struct KeepRules {
  // Of the newest; kKeepAll: every one. 0: none that a store holds as well; where none does, the newest.
  std::uint64_t last = 2;
  std::uint64_t every_steps = 0;  // and each whose step is a multiple; 0: none
  // Of all that is kept here. The oldest go first, milestones too; the newest and what is pinned stay,
  // whatever their size.
  std::uint64_t bytes_max = kKeepAll;
};

struct KeptCheckpoint {
  CheckpointId id;
  std::uint64_t size_bytes = 0;
  bool is_pinned = false;    // stays, whatever the other rules say
  bool is_in_store = false;  // committed there, too
};

// Those of `newest_first` that the rules let go. Never one of an attempt newer than `own`: whoever is behind
// the world does not clean up for it. Never the newest, unless a store holds it.
[[nodiscard]] std::vector<CheckpointId> choose_retired(std::span<const KeptCheckpoint> newest_first,
                                                       const KeepRules& rules, Attempt own);

// Those of which a manifest lies in any of these folders, whatever is in it.
[[nodiscard]] Result<std::set<CheckpointId>> checkpoints_named_in(const Disk& disk,
                                                                  std::initializer_list<const char*> folders);
// Those that were set aside: found bad, or of a lineage that was given up.
[[nodiscard]] Result<std::set<CheckpointId>> given_up_checkpoints(const Disk& disk);

// Takes a checkpoint whose bytes are bad out of the choice: its manifest goes to quarantine with the reason
// beside it; nothing is deleted. That of another caller at the same moment counts as ours.
[[nodiscard]] Result<void> set_aside(Disk& disk, const CheckpointId& id, std::string_view reason,
                                     std::string_view mark);

// Removes what was written for checkpoints before this one and never committed, unless it is pinned; of older
// attempts temporary files, too. For a world that has committed it, or that has no room: a late writer of an
// older attempt can then change nothing that anybody would choose, and within an attempt nothing older is
// committed any more.
[[nodiscard]] Result<void> sweep_uncommitted(Disk& disk, const CheckpointId& before);

// Removes what any rank wrote for one of which the caller's own vote is missing for good, so that nobody ever
// commits it.
[[nodiscard]] Result<void> remove_unvoted(Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
