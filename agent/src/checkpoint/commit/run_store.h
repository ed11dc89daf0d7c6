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

// How much of the newest checkpoint is read before older checkpoints are removed. For objects in a
// store, the headers suffice: an object is always whole, and the store verified its checksum at the
// upload.
enum class ReadBackScope { kAllBytes, kHeaders };

// The checkpoints of this folder that are in an object store, or are being copied into it.
struct StoreCopies {
  std::set<CheckpointId> in_store{};      // also committed in the store
  std::set<CheckpointId> being_copied{};  // being copied, or next to be copied: kept until then
};

class RunStore {
 public:
  // Creates the folder if it does not exist.
  [[nodiscard]] static Result<RunStore> open(const std::filesystem::path& folder);
  // `mark`, a text that no other process uses, is in the names of this process's temporary files. `owner`,
  // the identity of the job, is written into packs, receipts and manifests; if `owner` is empty, no identity
  // is recorded or compared.
  [[nodiscard]] static Result<RunStore> open(std::shared_ptr<Disk> disk, std::string mark,
                                             std::string owner = {});

  [[nodiscard]] Result<Inventory> inventory() const { return take_inventory(*disk_); }

  [[nodiscard]] Result<void> write_pack(const CheckpointId& id, Rank rank,
                                        std::span<const TensorView> tensors,
                                        const CommittedParts& known = {}) const {
    return checkpoint::write_pack(*disk_, id, rank, tensors, temporary_name_mark_, owner_, known);
  }
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size) const {
    return checkpoint::try_commit(*disk_, id, world_size, temporary_name_mark_, owner_);
  }
  // `receipts`: see commit.h.
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size,
                                                                 std::vector<PackRecord>& receipts) const {
    return checkpoint::try_commit(*disk_, id, world_size, temporary_name_mark_, owner_, receipts);
  }
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const CheckpointId& id) const {
    return find_committed(*disk_, id, owner_);
  }

  // Opens a checkpoint, for any number of ranks. Returns kNotFound if the manifest does not have the digest
  // in `point`.
  [[nodiscard]] Result<CheckpointReader> read(const ResumePoint& point, Rank rank,
                                              const ReadOptions& options = {}) const;

  // Returns all tensors of one rank: the rank whose number is `rank` modulo the number of packs.
  [[nodiscard]] Result<LoadedTensors> load(const ResumePoint& point, Rank rank) const;

  // Returns kCorrupted if a byte differs from the committed byte, and kNotFound if the checkpoint does not
  // exist.
  [[nodiscard]] Result<void> verify(const CheckpointId& id,
                                    ReadBackScope read_back = ReadBackScope::kAllBytes) const;

  [[nodiscard]] Result<void> quarantine_checkpoint(const CheckpointId& id, std::string_view reason) const {
    return checkpoint::quarantine_checkpoint(*disk_, id, reason, temporary_name_mark_);
  }

  // Removes the checkpoints that the rules do not keep, and files of checkpoints that are older than the
  // newest one and were never committed. retire_old() first reads the newest checkpoint back: if it is
  // damaged, retire_old() moves its manifest to quarantine/ and removes nothing. If the removal fails, some
  // old files remain, and no checkpoint that the rules keep is lost.
  [[nodiscard]] Result<void> retire_old(const KeepRules& rules, Attempt own, const StoreCopies& copies = {},
                                        ReadBackScope read_back = ReadBackScope::kAllBytes) const;

 private:
  // Verifies a checkpoint, but skips the part files in `verified_parts`. Adds the others to `verified_parts`.
  [[nodiscard]] Result<void> verify_except(const CheckpointId& id, ReadBackScope read_back,
                                           std::set<std::string>& verified_parts) const;
  // Verifies the newest checkpoint, but reads no part file that an earlier call has read.
  [[nodiscard]] Result<void> read_back_newest(const CheckpointId& newest, const CheckpointId& older,
                                              ReadBackScope read_back) const;
  // Returns the part files of a checkpoint, or nothing if its manifest cannot be read.
  [[nodiscard]] std::set<std::string> parts_of(const CheckpointId& id) const;
  // Returns the manifest that `point` names, and makes the file name of the manifest durable.
  [[nodiscard]] Result<Manifest> manifest_of(const ResumePoint& point) const;
  [[nodiscard]] Result<std::vector<KeptCheckpoint>> list_kept_checkpoints(const KeepRules& rules,
                                                                          const StoreCopies& copies) const;

  RunStore(std::shared_ptr<Disk> disk, std::string mark, std::string owner)
      : disk_(std::move(disk)), temporary_name_mark_(std::move(mark)), owner_(std::move(owner)) {}

  std::shared_ptr<Disk> disk_;
  std::string temporary_name_mark_;
  std::string owner_;
  mutable std::set<std::string> read_back_parts_;  // part files of the newest checkpoint that were read back
};

}  // namespace ratoon::checkpoint
