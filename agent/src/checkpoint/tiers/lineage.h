// Checkpoints that a run gives up, since it begins anew under its old name or goes back by hand: they are set
// aside, never deleted.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/rollback.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Moves every manifest of the run to aside/, so that none of its checkpoints exists any more; packs stay
// where they are, and nobody sweeps them: moved back by hand, a manifest is a checkpoint again. The oldest
// goes first, so that a start that is cut off and not repeated still resumes the newest. How many were moved.
// With `before`: only what older attempts left. Records of rollbacks go last: what they gave up never comes
// back.
[[nodiscard]] Result<std::uint64_t> set_lineage_aside(Disk& disk, std::string_view mark,
                                                      std::optional<Attempt> before = {});

// The same of what rollbacks gave up. It is no checkpoint since they were recorded; this is for people, and
// for readers that know of none.
[[nodiscard]] Result<std::uint64_t> set_rolled_back_aside(Disk& disk, std::span<const Rollback> in_force,
                                                          std::string_view mark);

}  // namespace ratoon::checkpoint
