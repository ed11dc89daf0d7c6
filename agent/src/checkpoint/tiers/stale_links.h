// If the pattern gives every checkpoint another name ("ep{epoch}-rank{rank}"), the link of that name remains
// when its checkpoint is removed. The functions in this file remove links and pointers that the run made and
// whose checkpoint no longer exists.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

// Removes links and pointers to checkpoints that no longer exist, of all ranks. Temporary links that killed
// processes left are removed as well, regardless of the pattern. If the pattern gives every checkpoint
// another name, a link is removed only if its name fits the pattern, its contents are those that
// point_latest() writes for a pack of this run, and that pack no longer exists. If the folder that contained
// a removed name is then empty, the folder is removed, too. All other files belong to the user and stay. If
// another rank sets a name to a newer checkpoint during the call, the new name may be removed, too. That
// removal does no harm: names are hints, and the next commit creates them again.
[[nodiscard]] Result<void> remove_stale_links(const std::filesystem::path& run_folder,
                                              std::string_view pattern, const std::string& run_name);
[[nodiscard]] Result<void> remove_stale_pointers(ObjectStoreDisk& store, std::string_view pattern,
                                                 const std::string& run_name);

}  // namespace ratoon::checkpoint
