// checkpoint/retention/: Decides by rules and pins which checkpoints of a run stay, and removes the other
// ones.
//
// This header chooses the checkpoints to remove, and removes files of checkpoints that were never committed.
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
  // The maximum number of bytes of all kept checkpoints together. Above bytes_max, the oldest checkpoints are
  // removed first, also those that every_steps keeps. The newest checkpoint and pinned checkpoints are kept
  // even above bytes_max.
  std::uint64_t bytes_max = kKeepAll;
};

struct KeptCheckpoint {
  CheckpointId id;
  std::uint64_t size_bytes = 0;
  bool is_pinned = false;    // stays regardless of the other rules
  bool is_in_store = false;  // also committed in a store
};

// Returns those checkpoints of `newest_first` that the rules do not keep. Returns no checkpoint of an attempt
// newer than `own`, because a process of an old attempt must not remove checkpoints of a newer one. The
// result contains the newest checkpoint only if rules.last is 0 and an object store has a copy.
[[nodiscard]] std::vector<CheckpointId> choose_retired(std::span<const KeptCheckpoint> newest_first,
                                                       const KeepRules& rules, Attempt own);

// Returns the checkpoints that have a manifest in any of `folders`, without reading the manifests.
[[nodiscard]] Result<std::set<CheckpointId>> checkpoints_with_manifest_in(
    const Disk& disk, std::initializer_list<const char*> folders);
// The checkpoints in quarantine/ (damaged ones) and in aside/ (given up by a rollback).
[[nodiscard]] Result<std::set<CheckpointId>> quarantined_or_aside_checkpoints(const Disk& disk);

// Moves the manifest of a damaged checkpoint to quarantine/, with the reason beside it, so that no run
// resumes from the checkpoint. quarantine_checkpoint() deletes no file, and succeeds even if another process
// moves the same manifest at the same moment.
[[nodiscard]] Result<void> quarantine_checkpoint(Disk& disk, const CheckpointId& id, std::string_view reason,
                                                 std::string_view mark);

// Removes three kinds of files: files of checkpoints that are older than `before`, were never committed and
// are not pinned; part files that no manifest names; and temporary files of older attempts. Call
// sweep_uncommitted() after `before` was committed, or when the disk is full. After sweep_uncommitted(), a
// slow process of an older attempt can commit no checkpoint from which the next start would resume. No
// process can commit a checkpoint that belongs to the same attempt as `before` and is older than `before`.
[[nodiscard]] Result<void> sweep_uncommitted(Disk& disk, const CheckpointId& before);

// Removes the files of all ranks, part files included, for a checkpoint that can never be committed, because
// the caller's rank will never write a receipt for it.
[[nodiscard]] Result<void> remove_unvoted_files(Disk& disk, const CheckpointId& id);

}  // namespace ratoon::checkpoint
