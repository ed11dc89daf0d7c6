// If the pattern gives every checkpoint another name ("ep{epoch}-rank{rank}"), no later link replaces the
// link to an old checkpoint, so this link remains when its checkpoint is removed. The functions in this file
// remove links and pointers that the run made and whose checkpoint no longer exists.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

namespace ratoon::checkpoint {

// Removes the links of all ranks to checkpoints that no longer exist. Also removes temporary links that
// killed processes of older attempts left. A link that is not temporary is removed only if the pattern gives
// every checkpoint another name, the name of the link fits the pattern, and update_latest() can have made the
// link. The link must also lead to a pack of this run that no longer exists. If a folder is empty after the
// removal of a link, the folder is removed, too. Files of the user always stay. If another rank replaces a
// link during the call by a link to a newer checkpoint, the new link may be removed, too. The loss of a link
// does no harm: links are only hints, and the next commit creates the link again.
[[nodiscard]] Result<void> remove_stale_links(const std::filesystem::path& run_folder,
                                              std::string_view pattern, const std::string& run_name);
[[nodiscard]] Result<void> remove_stale_pointers(ObjectStoreDisk& store, std::string_view pattern,
                                                 const std::string& run_name);

}  // namespace ratoon::checkpoint
