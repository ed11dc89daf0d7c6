// The going of what retention lets go, or somebody who tidies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {

// The files that we put into the folder of a step, of packs or of receipts; anything else is somebody's, and
// keeps the folder. An error where something is in the way, as a link is: asked for all folders of a
// checkpoint before one of them is touched.
[[nodiscard]] Result<std::vector<std::string>> find_rank_files(const Disk& disk, const std::string& folder);
// Those, where they are still there, and the folder if nothing else is in it.
[[nodiscard]] Result<void> remove_rank_files(Disk& disk, const std::string& folder,
                                             const std::vector<std::string>& found);

// Removes one: its manifest first, so that from then on it does not exist, whatever is left of it. Where its
// folders are not ours to look into nothing is removed.
[[nodiscard]] Result<void> remove_checkpoint(Disk& disk, const CheckpointId& id);
// The same of one that the rules let go, unless it is pinned, were it at this very moment. Whether it is
// gone.
[[nodiscard]] Result<bool> retire_checkpoint(Disk& disk, const CheckpointId& id, std::string_view mark);

}  // namespace ratoon::checkpoint
