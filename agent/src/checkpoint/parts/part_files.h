// Writes part files, finds missing ones, and removes those that no checkpoint needs.
//
// A part file is durable before the receipt that names it is written, and stays until no manifest names it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/parts/split_parts.h"

namespace ratoon::checkpoint {

// Returns the path and the pack record of a part file.
[[nodiscard]] std::string path_of_part(const PartRecord& part);
[[nodiscard]] PackRecord pack_record_of_part(const TensorInParts& tensor, std::size_t part,
                                             const std::string& owner);
// Returns the sum of the sizes of the part files that `pack` names, without those in `counted`, and adds all
// of them to `counted`.
[[nodiscard]] std::uint64_t count_part_bytes(const PackRecord& pack, std::set<std::string>& counted);

// Verifies the part files that `pack` names, without those in `verified`, and adds them to `verified`. Reads
// only their headers if `reads_all_bytes` is false.
[[nodiscard]] Result<void> verify_parts(const Disk& disk, const PackRecord& pack, bool reads_all_bytes,
                                        std::set<std::string>& verified);

// Writes the parts that no earlier checkpoint has, durably, and returns the tensors with complete records.
// Returns kConflict if the checkpoint that has the other parts is in quarantine, because its parts may be
// damaged.
[[nodiscard]] Result<std::vector<TensorInParts>> write_parts(Disk& disk, const CheckpointId& id,
                                                             const PartsOfSave& parts, std::string_view mark,
                                                             const std::string& owner);

// Returns an error if a part file that an earlier save wrote may be missing: a rank took it from a checkpoint
// that was removed before this checkpoint is committed.
[[nodiscard]] Result<void> check_older_parts(const Disk& disk, const CheckpointId& id,
                                             std::span<const PackRecord> packs);

// Removes the part files of saves older than `before` that no manifest of the folder names. Removes nothing
// if an attempt newer than before.attempt has begun, because the saves of that attempt may need them.
[[nodiscard]] Result<void> sweep_parts(Disk& disk, const CheckpointId& before);

}  // namespace ratoon::checkpoint
