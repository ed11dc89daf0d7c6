// Names that change from one checkpoint to the next ("ep{epoch}-rank{rank}") stay behind when what they lead
// to is retired. Those that a run made itself, and that lead nowhere, are taken away.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/store_disk.h"

namespace ratoon::checkpoint {

// Of all ranks. What a process that was killed left of a link that had no name yet goes under any pattern.
// Where names change with checkpoints, a name goes if the pattern may have given it, if it is just what
// point_latest() makes of a pack of this run, and if that pack is gone; so does its folder where nothing else
// is in it. All else is a person's own. A name that another rank points to a newer checkpoint at this very
// moment may go, too: it is a hint, and the next commit makes it anew.
[[nodiscard]] Result<void> remove_old_links(const std::filesystem::path& run_folder, std::string_view pattern,
                                            const std::string& run_name);
[[nodiscard]] Result<void> remove_old_pointers(StoreDisk& store, std::string_view pattern,
                                               const std::string& run_name);

}  // namespace ratoon::checkpoint
