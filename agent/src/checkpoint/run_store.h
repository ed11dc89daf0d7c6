// RunStore: the checkpoints of one run in one folder. How a checkpoint comes to be:
//   1. every rank writes its pack, durably                              write_pack
//   2. every rank writes its receipt, durably: "my pack is on the disk"  write_pack
//   3. rank 0 sees all receipts and writes the manifest, once            try_commit  <- the commit
//   4. only now older checkpoints may go                                 retire_old
//
// Thread contract: one thread. Several processes share a folder, each with its own RunStore.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pack.h"

namespace ratoon::checkpoint {

class RunStore {
 public:
  // Creates the folder where it is missing.
  [[nodiscard]] static Result<RunStore> open(std::filesystem::path folder);

  // Complete checkpoints, newest first, with the digests of their manifests. Manifests that cannot be read
  // are left where they are and count as not complete; their attempts and steps are used up all the same.
  struct Inventory {
    Attempt newest_attempt{0};  // that left anything here, committed or not
    std::vector<InventoryEntry> complete;
    std::vector<InventoryEntry> damaged;
  };
  [[nodiscard]] Result<Inventory> inventory() const;

  [[nodiscard]] Result<void> write_pack(const CheckpointId& id, Rank rank, const NamedStates& states) const;

  // Nothing if receipts are still missing; else the committed checkpoint, whoever committed it.
  [[nodiscard]] Result<std::optional<InventoryEntry>> try_commit(const CheckpointId& id,
                                                                 std::uint32_t world_size) const;

  // The entry of this checkpoint if its manifest is there.
  [[nodiscard]] Result<std::optional<InventoryEntry>> find(const CheckpointId& id) const;

  // What `rank` tracked. A world of another size reads the pack of the rank modulo the size at that time.
  [[nodiscard]] Result<NamedStates> load(const ResumePoint& point, Rank rank) const;

  // Keeps the newest `keep` checkpoints, after checking that the newest one reads back. Never touches
  // attempts newer than `own`.
  [[nodiscard]] Result<void> retire_old(std::uint64_t keep, Attempt own) const;

 private:
  explicit RunStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<Manifest> read_manifest(const CheckpointId& id, std::string* digest) const;
  [[nodiscard]] Result<NamedStates> read_pack(const CheckpointId& id, const PackRecord& record) const;

  std::filesystem::path folder_;
};

}  // namespace ratoon::checkpoint
