// checkpoint/tiers/: Manages the folder and the stores that hold one run's checkpoints. The code claims them
// for one job, chooses the checkpoint from which the run resumes, and updates `latest`.
//
// Tiers: one object for the folder and all stores that hold checkpoints of one run. The first tier is the
// folder in which the run saves its checkpoints, or a store if the run has no folder. All tiers after the
// first are stores to which checkpoints are copied.
//
//   TierLocations places{.folder = "/data/runs/digits", .stores = {"s3://bucket/runs/digits"}};
//   Result<Tiers> tiers = Tiers::open(places);
//   Result<TieredInventory> found = tiers->inventory();
//   Result<StartChoice> start = choose_start(*found, {}, [](const auto&) { return true; });
//   Result<TierLoadResult> state = tiers->load(*start->checkpoint, Rank(0));
//
// Thread contract: any thread may call any function.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/tiers/resume_choice.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

struct TierLocations {
  std::string folder{};               // the run's own; empty: it has no local volume at all
  bool is_folder_shared = true;       // a volume of all processes; false: local to one node
  std::vector<std::string> stores{};  // "s3://bucket/runs/digits": the run's own place in each
  StoreOptions store_options{};
  FolderWrapper folder_wrapper{};  // for the run's folder, and for stores that are folders
};

struct Tier {
  std::string kind_name;  // "local", "volume" or "store"
  std::shared_ptr<Disk> disk;
  std::shared_ptr<ObjectStoreDisk> store;  // the same tier if it is a store; else null
};

// The loaded tensors, the tier from which they were loaded, and the damaged copies in other tiers that were
// tried before.
struct TierLoadResult {
  LoadedTensors tensors;
  std::size_t tier = 0;
  std::vector<std::pair<std::size_t, Error>> damaged_copies{};
};

class Tiers {
 public:
  [[nodiscard]] static Result<Tiers> open(const TierLocations& places, const std::stop_token& stop = {});
  // Makes a Tiers of tiers that are already open.
  explicit Tiers(std::vector<Tier> tiers) : tiers_(std::move(tiers)) {}

  [[nodiscard]] const std::vector<Tier>& all() const { return tiers_; }
  [[nodiscard]] const Tier& home() const { return tiers_.front(); }

  // Returns the lists of checkpoints in all tiers. Fails if a tier cannot be read, because that tier may hold
  // the newest checkpoint. A run that resumes from an older checkpoint would lose the newest one forever.
  [[nodiscard]] Result<std::vector<TierInventory>> list_all_tiers() const;
  [[nodiscard]] Result<TieredInventory> inventory() const;

  // Pins the checkpoint in every tier, so that no copy of it is removed. If the first tier fails, returns its
  // error. Passes the errors of other tiers to `tell`.
  [[nodiscard]] Result<void> pin(const CheckpointId& id, const std::string& why,
                                 const std::function<void(const std::string&)>& tell) const;
  // Removes the pins of all checkpoints of this step in every tier. Returns the first error.
  [[nodiscard]] Result<void> unpin_step(Step step) const;

  // Returns the tensors that `rank` saved, from the first intact copy.
  [[nodiscard]] Result<TierLoadResult> load(const TieredCheckpoint& checkpoint, Rank rank) const;

 private:
  std::vector<Tier> tiers_;
};

}  // namespace ratoon::checkpoint
