// Names that change from one checkpoint to the next ("ep{epoch}-rank{rank}") remain when their checkpoint is
// retired. The functions below remove old names that the run made and whose target is gone.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

// Removes the names of all ranks. Temporary links that killed processes left are removed for any pattern. If
// names change with checkpoints, a name is removed under three conditions: the pattern may have given it, it
// is exactly as point_latest() makes it for a pack of this run, and that pack no longer exists. If the folder
// of the name is then empty, it is removed. All other files belong to the user. A name that another rank sets
// to a newer checkpoint at this moment may be removed, too: a name is a hint, and the next commit creates it
// again.
[[nodiscard]] Result<void> remove_stale_links(const std::filesystem::path& run_folder,
                                              std::string_view pattern, const std::string& run_name);
[[nodiscard]] Result<void> remove_stale_pointers(ObjectStoreDisk& store, std::string_view pattern,
                                                 const std::string& run_name);

}  // namespace ratoon::checkpoint
