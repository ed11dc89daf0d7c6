// RunStore: the checkpoints of one run in one folder. commit.h explains how checkpoints are committed.
//
// Thread contract: only one thread at a time may use a RunStore. Several processes may share a folder; each
// of them has its own RunStore.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/retention/retention.h"

namespace ratoon::checkpoint {

// How much of the newest checkpoint is read before older checkpoints are removed. In an object store,
// reading the headers is enough: an object is always whole, and the store verified its checksum when it was
// written.
enum class ReadBack { kAllBytes, kHeaders };

// The checkpoints of this folder that are in an object store, or are being copied into it.
struct Copies {
  std::set<CheckpointId> in_store{};   // also committed in the store
  std::set<CheckpointId> under_way{};  // being copied, or next to be copied: kept until then
};

class RunStore {
 public:
  // Creates the folder if it does not exist.
  [[nodiscard]] static Result<RunStore> open(const std::filesystem::path& folder);
  // `mark`, a text that no other process uses, is in the names of this process's temporary files. `owner`:
  // see commit.h.
  [[nodiscard]] static Result<RunStore> open(std::shared_ptr<Disk> disk, std::string mark,
                                             std::string owner = {});

  [[nodiscard]] Result<Inventory> inventory() const { return take_inventory(*disk_); }

  [[nodiscard]] Result<void> write_pack(const CheckpointId& id, Rank rank,
                                        std::span<const TensorView> tensors) const {
    return checkpoint::write_pack(*disk_, id, rank, tensors, mark_, owner_);
  }
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size) const {
    return checkpoint::try_commit(*disk_, id, world_size, mark_, owner_);
  }
  // `receipts`: see commit.h.
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size,
                                                                 std::vector<PackRecord>& receipts) const {
    return checkpoint::try_commit(*disk_, id, world_size, mark_, owner_, receipts);
  }
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const CheckpointId& id) const {
    return find_committed(*disk_, id, owner_);
  }

  // Opens a checkpoint, for any number of ranks. Returns kNotFound if the manifest does not have the digest
  // in `point`.
  [[nodiscard]] Result<CheckpointReader> read(const ResumePoint& point, Rank rank,
                                              const ReadOptions& options = {}) const;

  // Returns all tensors of one pack: the pack whose number is `rank` modulo the number of packs.
  [[nodiscard]] Result<LoadedTensors> load(const ResumePoint& point, Rank rank) const;

  // Returns kCorrupted if a byte differs from the committed byte, and kNotFound if the checkpoint does not
  // exist.
  [[nodiscard]] Result<void> verify(const CheckpointId& id, ReadBack read_back = ReadBack::kAllBytes) const;

  [[nodiscard]] Result<void> set_aside(const CheckpointId& id, std::string_view reason) const {
    return checkpoint::set_aside(*disk_, id, reason, mark_);
  }

  // Removes the checkpoints that the rules do not keep, and files of checkpoints that are older than the
  // newest one and were never committed. First reads the newest checkpoint back: if it is damaged, the call
  // moves its manifest to quarantine/ and removes nothing. An error during the removal loses no checkpoint:
  // only more files remain.
  [[nodiscard]] Result<void> retire_old(const KeepRules& rules, Attempt own, const Copies& copies = {},
                                        ReadBack read_back = ReadBack::kAllBytes) const;

 private:
  // Returns the manifest that `point` names, and makes the file name of the manifest durable.
  [[nodiscard]] Result<Manifest> manifest_of(const ResumePoint& point) const;
  [[nodiscard]] Result<std::vector<KeptCheckpoint>> kept(const KeepRules& rules, const Copies& copies) const;

  RunStore(std::shared_ptr<Disk> disk, std::string mark, std::string owner)
      : disk_(std::move(disk)), mark_(std::move(mark)), owner_(std::move(owner)) {}

  std::shared_ptr<Disk> disk_;
  std::string mark_;
  std::string owner_;
};

}  // namespace ratoon::checkpoint
