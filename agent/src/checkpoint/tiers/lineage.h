// Beginning anew under a name that has checkpoints: the old ones are set aside, never deleted.
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Moves every manifest of the run to aside/, so that none of its checkpoints exists any more; packs stay
// where they are, and nobody sweeps them: moved back by hand, a manifest is a checkpoint again. The oldest
// goes first, so that a start that is cut off and not repeated still resumes the newest. How many were moved.
// With `before`: only what older attempts left.
[[nodiscard]] Result<std::uint64_t> set_lineage_aside(Disk& disk, std::string_view mark,
                                                      std::optional<Attempt> before = {});

}  // namespace ratoon::checkpoint
