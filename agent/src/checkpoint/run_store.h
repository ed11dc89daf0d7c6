// RunStore: the checkpoints of one run in one folder; commit.h says how one comes to be.
//
// Thread contract: one thread. Several processes share a folder, each with its own RunStore.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/commit.h"
#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/inventory.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/pack_reader.h"
#include "agent/src/checkpoint/retention.h"

namespace ratoon::checkpoint {

// How much of the newest checkpoint is read before older ones go. In a store an object is whole or not there,
// and its checksum was compared when it was written: its header says that it is the right one.
enum class ReadBack { kAllBytes, kHeaders };

// What is known of copies of this folder's checkpoints.
struct Copies {
  std::set<CheckpointId> in_store{};   // committed there as well
  std::set<CheckpointId> under_way{};  // being copied, or next: they stay for so long
};

class RunStore {
 public:
  // Makes the folder where it is missing.
  [[nodiscard]] static Result<RunStore> open(const std::filesystem::path& folder);
  // `mark` names this process in temporary files: no other one has it. `owner`: as in commit.h.
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
  // `receipts`: commit.h.
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size,
                                                                 std::vector<PackRecord>& receipts) const {
    return checkpoint::try_commit(*disk_, id, world_size, mark_, owner_, receipts);
  }
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const CheckpointId& id) const {
    return find_committed(*disk_, id, owner_);
  }

  // For any number of ranks. kNotFound where the manifest is not the one that was chosen.
  [[nodiscard]] Result<CheckpointReader> read(const ResumePoint& point, Rank rank,
                                              const ReadOptions& options = {}) const;

  // All that lies in the rank's own pack: that of the rank modulo the size of the world at that time.
  [[nodiscard]] Result<LoadedTensors> load(const ResumePoint& point, Rank rank) const;

  // kCorrupted where a byte of it is not what was committed, kNotFound where there is no such checkpoint.
  [[nodiscard]] Result<void> verify(const CheckpointId& id, ReadBack read_back = ReadBack::kAllBytes) const;

  [[nodiscard]] Result<void> set_aside(const CheckpointId& id, std::string_view reason) const {
    return checkpoint::set_aside(*disk_, id, reason, mark_);
  }

  // Lets go what the rules do not keep, and what was never committed before the newest, after checking that
  // the newest checkpoint reads back; one that does not is set aside, and nothing goes. After an error more
  // is kept than has to be, and no harm is done.
  [[nodiscard]] Result<void> retire_old(const KeepRules& rules, Attempt own, const Copies& copies = {},
                                        ReadBack read_back = ReadBack::kAllBytes) const;

 private:
  // The chosen one and no other, durable under its name.
  [[nodiscard]] Result<Manifest> manifest_of(const ResumePoint& point) const;
  [[nodiscard]] Result<std::vector<KeptCheckpoint>> kept(const KeepRules& rules, const Copies& copies) const;

  RunStore(std::shared_ptr<Disk> disk, std::string mark, std::string owner)
      : disk_(std::move(disk)), mark_(std::move(mark)), owner_(std::move(owner)) {}

  std::shared_ptr<Disk> disk_;
  std::string mark_;
  std::string owner_;
};

}  // namespace ratoon::checkpoint
