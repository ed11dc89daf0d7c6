// Where a run goes on, from what all its tiers hold. Pure: what lies where comes in as values.
//
// The newest committed checkpoint wins, wherever it is: a node that comes back with an old local copy does
// not take the run back. Only among copies of one checkpoint the order of the tiers counts.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/inventory.h"

namespace ratoon::checkpoint {

// One tier's word, in the order in which tiers are asked: local first, then stores as they are listed.
struct TierInventory {
  std::string tier;   // "staged", "local", "volume" or "store", as in InventoryEntry
  std::string shown;  // "/data/runs/digits", "s3://bucket/runs/digits": for messages
  Inventory found;
};

// One checkpoint, and the positions of the tiers that hold it, first to be asked first.
struct TieredCheckpoint {
  CheckpointId id;
  std::string digest;
  std::vector<std::size_t> tiers;

  friend bool operator==(const TieredCheckpoint&, const TieredCheckpoint&) = default;
};

struct TieredInventory {
  Attempt newest_attempt{0};               // that left anything in any tier
  std::vector<TieredCheckpoint> complete;  // newest first
  std::vector<InventoryEntry> damaged;     // known of, and good nowhere; newest first
  std::vector<Rollback> rollbacks{};       // that any tier knows of, oldest first
  std::vector<InventoryEntry> given_up{};  // by those in force, in any tier; newest first

  [[nodiscard]] bool is_of_a_new_run() const {
    return complete.empty() && damaged.empty() && given_up.empty();
  }
};

// kConflict: two tiers hold different checkpoints, or rollbacks, under one name, so one of them is of another
// run.
[[nodiscard]] Result<TieredInventory> merge(std::span<const TierInventory> tiers);

struct StartWishes {
  bool resumes = true;         // false: begin anew, whatever there is
  bool overwrites = false;     // beginning anew may set aside what there is
  bool can_overwrite = true;   // where it is not wished it can be
  bool has_load_path = false;  // weights of another run to begin with
};

struct StartChoice {
  enum class Kind {
    kFromNothing,
    kFromLoadPath,  // nowhere is a checkpoint of this run, and never was
    kResume,        // from `checkpoint`
    kNoneIsGood,    // there are some and none can be used: nothing is started over by itself
  };
  Kind kind = Kind::kFromNothing;
  std::optional<TieredCheckpoint> checkpoint{};
  bool sets_aside_first = false;  // what there is of the run

  friend bool operator==(const StartChoice&, const StartChoice&) = default;
};

// `is_usable`: whether the new world can cover it, and has not failed to load it before. kAlreadyExists:
// beginning anew where checkpoints stand, without leave to set them aside; the sentence names the ways on.
[[nodiscard]] Result<StartChoice> choose_start(const TieredInventory& inventory, const StartWishes& wishes,
                                               const std::function<bool(const TieredCheckpoint&)>& is_usable);

// What a process that joins a world says it can reach.
[[nodiscard]] std::vector<InventoryEntry> entries_of(const TieredInventory& inventory,
                                                     std::span<const TierInventory> tiers);

}  // namespace ratoon::checkpoint
