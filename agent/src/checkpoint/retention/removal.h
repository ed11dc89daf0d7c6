// Removes checkpoints, for the retention rules of a run and for `ratoon checkpoint gc`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {

// Lists the ranks' files in a folder of packs or of receipts of one step. Leaves out files with other names,
// because they do not belong to Ratoon: such files stay, and so does their folder. Returns an error if the
// folder cannot be listed, for example because it is a link. Call find_rank_files() for all folders of a
// checkpoint before removing a file from any of them.
[[nodiscard]] Result<std::vector<std::string>> find_rank_files(const Disk& disk, const std::string& folder);
// Removes the files `found` that still exist, and then the folder, if it is empty.
[[nodiscard]] Result<void> remove_rank_files(Disk& disk, const std::string& folder,
                                             const std::vector<std::string>& found);

// Removes a checkpoint. The manifest is removed first: without it the checkpoint does not exist, even if
// other files remain. If the folders of the checkpoint cannot be listed, removes nothing and returns an
// error.
[[nodiscard]] Result<void> remove_checkpoint(Disk& disk, const CheckpointId& id);
// Removes a checkpoint that the retention rules do not keep, unless it is pinned before or during this call.
// Returns true if the checkpoint was removed.
[[nodiscard]] Result<bool> retire_checkpoint(Disk& disk, const CheckpointId& id, std::string_view mark);

}  // namespace ratoon::checkpoint
