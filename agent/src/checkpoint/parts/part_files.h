// Writes part files, finds missing part files, and removes part files that no checkpoint needs.
//
// A part file is durable before a rank writes the receipt (its record of a written pack) that names the part
// file. The part file stays until no manifest names it.
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
// Returns the sum of the sizes of the part files that `pack` names, without the part files in `counted`. Adds
// the paths of all part files of `pack` to `counted`.
[[nodiscard]] std::uint64_t count_part_bytes(const PackRecord& pack, std::set<std::string>& counted);

// Verifies the part files that `pack` names and that are not in `verified`, and adds their paths to
// `verified`. If `reads_all_bytes` is false, reads only the headers of the part files.
[[nodiscard]] Result<void> verify_parts(const Disk& disk, const PackRecord& pack, bool reads_all_bytes,
                                        std::set<std::string>& verified);

// Durably writes the part files in parts.to_write, and returns the tensors with the records of all their
// parts. Returns kConflict if parts.base, the checkpoint that has the other parts, is in quarantine, because
// the parts of that checkpoint may be damaged.
[[nodiscard]] Result<std::vector<TensorInParts>> write_parts(Disk& disk, const CheckpointId& id,
                                                             const PartsOfSave& parts, std::string_view mark,
                                                             const std::string& owner);

// Returns an error if the packs name a part file of an earlier save and this part file is missing. A part
// file is missing if the checkpoint from which the save took it was removed before the commit of checkpoint
// `id`.
[[nodiscard]] Result<void> check_older_parts(const Disk& disk, const CheckpointId& id,
                                             std::span<const PackRecord> packs);

// Removes the part files that the save of `id` wrote. Call it only if `id` can never be committed.
[[nodiscard]] Result<void> remove_parts_of(Disk& disk, const CheckpointId& id);

// Removes each part file that was written by a save older than `before`, if no manifest of the folder names
// the part file. Removes nothing if an attempt newer than before.attempt has begun, because the saves of that
// attempt may need them.
[[nodiscard]] Result<void> sweep_parts(Disk& disk, const CheckpointId& before);

}  // namespace ratoon::checkpoint
