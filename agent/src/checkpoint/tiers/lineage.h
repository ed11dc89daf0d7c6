// Sets aside checkpoints that a run gives up, because it begins anew under its old name or is
// rolled back. The checkpoints are never deleted.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/rollback.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Moves every manifest of the run to aside/, so that none of its checkpoints exists any longer. Packs stay
// where they are and are not removed: if a manifest is moved back by hand, its checkpoint exists again. The
// oldest manifest is moved first, so that a start that is interrupted and not repeated still resumes from the
// newest checkpoint. Rollback records are moved last, so that checkpoints that they gave up never return. If
// `before` is given, moves only files of attempts before it. Returns the number of moved manifests.
[[nodiscard]] Result<std::uint64_t> set_lineage_aside(Disk& disk, std::string_view mark,
                                                      std::optional<Attempt> before = {});

// Sets aside the checkpoints that rollbacks gave up. Given-up checkpoints are ignored from the moment at
// which the rollback was recorded. The manifests are moved for people, and for readers that do not know
// rollback records.
[[nodiscard]] Result<std::uint64_t> set_rolled_back_aside(Disk& disk, std::span<const Rollback> in_force,
                                                          std::string_view mark);

}  // namespace ratoon::checkpoint
