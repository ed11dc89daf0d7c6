// checkpoint/retention/: Decides by rules and pins which checkpoints of a run stay, and removes the other
// ones.
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
  // How many of the newest checkpoints are kept. kKeepAll keeps all checkpoints. 0 keeps only the newest
  // checkpoint, and only until an object store holds a copy.
  std::uint64_t last = 2;
  std::uint64_t every_steps = 0;  // also keep each step that is a multiple; 0: none
  // The maximum number of bytes of all kept checkpoints together. The oldest checkpoints are removed first,
  // also those that keep_every keeps. The newest checkpoint and pinned checkpoints are kept even if they
  // exceed this limit.
  std::uint64_t bytes_max = kKeepAll;
};

struct KeptCheckpoint {
  CheckpointId id;
  std::uint64_t size_bytes = 0;
  bool is_pinned = false;    // stays regardless of the other rules
  bool is_in_store = false;  // also committed in a store
};

// Returns those checkpoints of `newest_first` that the rules do not keep. The result contains no checkpoint
// of an attempt newer than `own`, because a process of an old attempt must not remove checkpoints of a newer
// one. The result contains the newest checkpoint only if an object store has a copy of it.
[[nodiscard]] std::vector<CheckpointId> choose_retired(std::span<const KeptCheckpoint> newest_first,
                                                       const KeepRules& rules, Attempt own);

// Returns the checkpoints that have a manifest in any of `folders`, without reading the manifests.
[[nodiscard]] Result<std::set<CheckpointId>> checkpoints_named_in(const Disk& disk,
                                                                  std::initializer_list<const char*> folders);
// The checkpoints in quarantine/ (damaged ones) and in aside/ (given up by a rollback).
[[nodiscard]] Result<std::set<CheckpointId>> given_up_checkpoints(const Disk& disk);

// Moves the manifest of a damaged checkpoint to quarantine/, with the reason beside it, so that no run
// resumes from the checkpoint. Nothing is deleted. The call succeeds even if another process moves the same
// manifest at the same moment.
[[nodiscard]] Result<void> set_aside(Disk& disk, const CheckpointId& id, std::string_view reason,
                                     std::string_view mark);

// Removes the files of checkpoints older than `before` that were never committed, except pinned ones, and
// temporary files of older attempts. Call sweep_uncommitted() after `before` was committed, or when the disk
// is full. After the call, a slow process of an older attempt cannot commit a checkpoint from which the next
// start would resume. After the call, no checkpoint of the same attempt that is older than `before` can be
// committed.
[[nodiscard]] Result<void> sweep_uncommitted(Disk& disk, const CheckpointId& before);

// Removes the files of all ranks for a checkpoint that can never be committed, because the caller will never
// write its receipt.
[[nodiscard]] Result<void> remove_unvoted(Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
