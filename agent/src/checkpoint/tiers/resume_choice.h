// Chooses the checkpoint from which a run resumes, among those of all its tiers (folder and stores). The
// functions are pure: they read no files, and get the lists of checkpoints as arguments.
//
// choose_start() chooses the newest committed checkpoint of all tiers. So if a node returns with an old local
// copy, the run repeats no steps. The order of the tiers decides only which copy of one checkpoint is read
// first.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/commit/inventory.h"

namespace ratoon::checkpoint {

// The checkpoints in one tier, which is the run's folder or one of its stores. The tiers are in the order in
// which they are read: the local folder first, then the stores as the user listed them.
struct TierInventory {
  std::string tier;   // "staged", "local", "volume" or "store", as in InventoryEntry
  std::string shown;  // "/data/runs/digits", "s3://bucket/runs/digits": for messages
  Inventory found;
};

// One checkpoint, and the indices of the tiers (the run's folder and stores) that hold it, in ascending
// order.
struct TieredCheckpoint {
  CheckpointId id;
  std::string digest;
  std::vector<std::size_t> tiers;

  friend bool operator==(const TieredCheckpoint&, const TieredCheckpoint&) = default;
};

struct TieredInventory {
  Attempt newest_attempt{0};               // of all tiers
  std::vector<TieredCheckpoint> complete;  // newest first
  std::vector<InventoryEntry> damaged;     // known, but good in no tier; newest first
  std::vector<Rollback> rollbacks{};       // of all tiers, oldest first
  std::vector<InventoryEntry> given_up{};  // by rollbacks in force, in any tier; newest first

  [[nodiscard]] bool is_of_a_new_run() const {
    return complete.empty() && damaged.empty() && given_up.empty();
  }
};

// Returns kConflict if two tiers have different checkpoints or rollbacks of the same attempt and step,
// because one of the two tiers then contains files of another run.
[[nodiscard]] Result<TieredInventory> merge(std::span<const TierInventory> tiers);

struct StartRequest {
  bool resumes = true;         // false: begin anew, even if there are checkpoints
  bool overwrites = false;     // beginning anew may set checkpoints aside
  bool can_overwrite = true;   // whether --overwrite is possible here
  bool has_load_path = false;  // weights of another run to begin with
};

struct StartChoice {
  enum class Kind {
    kFromNothing,
    kFromLoadPath,  // this run has no checkpoint and never had one
    kResume,        // from `checkpoint`
    kNoneIsGood,    // checkpoints exist, but none is usable: the run must not start over by itself
  };
  Kind kind = Kind::kFromNothing;
  std::optional<TieredCheckpoint> checkpoint{};
  bool sets_old_checkpoints_aside = false;  // the existing checkpoints of the run

  friend bool operator==(const StartChoice&, const StartChoice&) = default;
};

// `is_usable` returns true if all ranks of the new attempt can read all packs of a checkpoint, and no rank
// has failed to load it before. Returns kAlreadyExists if the run has checkpoints, and its options allow
// neither to resume from them nor to give them up; the message names the options.
[[nodiscard]] Result<StartChoice> choose_start(const TieredInventory& inventory, const StartRequest& requests,
                                               const std::function<bool(const TieredCheckpoint&)>& is_usable);

// Returns the checkpoints that a process reports as readable when it joins the next attempt.
[[nodiscard]] std::vector<InventoryEntry> entries_of(const TieredInventory& inventory,
                                                     std::span<const TierInventory> tiers);

}  // namespace ratoon::checkpoint
