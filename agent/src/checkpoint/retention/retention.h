// checkpoint/retention/: Which checkpoints stay and how others are removed: rules, pins, removal.
//
// Decides which checkpoints are removed, and removes files of checkpoints that were never committed.
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
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

inline constexpr std::uint64_t kKeepAll = ~std::uint64_t{0};

struct KeepRules {
  // How many of the newest checkpoints are kept; kKeepAll: all. 0: only the newest checkpoint is kept, and
  // only until a store holds it.
  std::uint64_t last = 2;
  std::uint64_t every_steps = 0;  // also keep each step that is a multiple; 0: none
  // Limit for all kept checkpoints together. The oldest checkpoints are removed first, also those that
  // keep_every keeps. The newest checkpoint and pinned checkpoints stay, regardless of their size.
  std::uint64_t bytes_max = kKeepAll;
};

struct KeptCheckpoint {
  CheckpointId id;
  std::uint64_t size_bytes = 0;
  bool is_pinned = false;    // stays regardless of the other rules
  bool is_in_store = false;  // also committed in a store
};

// The checkpoints of `newest_first` that the rules retire. Never includes a checkpoint of an attempt newer
// than `own`: a process of an old attempt must not clean up for a newer one. Never includes the newest
// checkpoint, unless a store holds it.
[[nodiscard]] std::vector<CheckpointId> choose_retired(std::span<const KeptCheckpoint> newest_first,
                                                       const KeepRules& rules, Attempt own);

// Returns the checkpoints that have a manifest in any of `folders`, without reading the manifests.
[[nodiscard]] Result<std::set<CheckpointId>> checkpoints_named_in(const Disk& disk,
                                                                  std::initializer_list<const char*> folders);
// The checkpoints that were set aside because they are damaged, or because the run gave them up.
[[nodiscard]] Result<std::set<CheckpointId>> given_up_checkpoints(const Disk& disk);

// Excludes a damaged checkpoint from every later choice: moves its manifest to quarantine/, with the reason
// beside it. Nothing is deleted. Succeeds also if another caller moves the manifest at the same moment.
[[nodiscard]] Result<void> set_aside(Disk& disk, const CheckpointId& id, std::string_view reason,
                                     std::string_view mark);

// Removes the files of checkpoints older than `before` that were never committed, except pinned ones, and
// temporary files of older attempts. Call sweep_uncommitted() after `before` was committed, or when the disk
// is full. After the call, a late writer of an older attempt cannot change the checkpoint from which a start
// would resume. Within one attempt, no checkpoint older than `before` is committed after the call.
[[nodiscard]] Result<void> sweep_uncommitted(Disk& disk, const CheckpointId& before);

// Removes the files of all ranks for a checkpoint that can never be committed, because the caller's vote will
// never exist.
[[nodiscard]] Result<void> remove_unvoted(Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
