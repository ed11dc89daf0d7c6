// Tiers: all the places that hold checkpoints of one run, as one. The first is its home, where checkpoints
// are saved: a folder, or a store where there is no folder. The others are stores that get copies.
//
//   TierPlaces places{.folder = "/data/runs/digits", .stores = {"s3://bucket/runs/digits"}};
//   Result<Tiers> tiers = Tiers::open(places);
//   Result<TieredInventory> found = tiers->inventory();
//   Result<StartChoice> start = choose_start(*found, {}, [](const auto&) { return true; });
//   Result<FromTier> state = tiers->load(*start->checkpoint, Rank(0));
//
// Thread contract: any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/checkpoint/pack_reader.h"
#include "agent/src/checkpoint/tiers/resume_choice.h"
#include "agent/src/checkpoint/tiers/store_disk.h"

namespace ratoon::checkpoint {

struct TierPlaces {
  std::string folder{};               // the run's own; empty: it has no local volume at all
  bool is_folder_shared = true;       // by all processes of the run: a volume; else of one node
  std::vector<std::string> stores{};  // "s3://bucket/runs/digits": the run's own place in each
  StoreOptions store_options{};
  SeeFolders see_folders_through{};  // the run's own, and stores that are folders
};

struct Tier {
  std::string word;  // "local", "volume" or "store"
  std::shared_ptr<Disk> disk;
  std::shared_ptr<StoreDisk> store;  // the same, where it is a store; else null
};

// What was loaded, and where a copy before it was found bad.
struct FromTier {
  LoadedTensors tensors;
  std::size_t tier = 0;
  std::vector<std::pair<std::size_t, Error>> bad{};
};

class Tiers {
 public:
  [[nodiscard]] static Result<Tiers> open(const TierPlaces& places, const std::stop_token& stop = {});
  // For who has opened them already.
  explicit Tiers(std::vector<Tier> tiers) : tiers_(std::move(tiers)) {}

  [[nodiscard]] const std::vector<Tier>& all() const { return tiers_; }
  [[nodiscard]] const Tier& home() const { return tiers_.front(); }

  // Of every tier. One that cannot be asked is an error: what it holds may be newer than all else, and going
  // on from an older checkpoint would leave the newer one behind for good.
  [[nodiscard]] Result<std::vector<TierInventory>> ask_all() const;
  [[nodiscard]] Result<TieredInventory> inventory() const;

  // What `rank` saved, from the first copy that is sound.
  [[nodiscard]] Result<FromTier> load(const TieredCheckpoint& checkpoint, Rank rank) const;

 private:
  std::vector<Tier> tiers_;
};

}  // namespace ratoon::checkpoint
