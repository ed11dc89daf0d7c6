// A run gives up checkpoints if it starts over under its old name, or if it goes back to an older checkpoint.
// The functions below move the manifests of these checkpoints to aside/. They delete no checkpoint.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/rollback.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Moves every manifest of the run to aside/, so that none of its checkpoints exists any longer. The packs of
// the checkpoints stay in packs/: if a user moves a manifest back, its checkpoint exists again. The oldest
// manifest is moved first: if the move is interrupted and not repeated, the next start still resumes from the
// newest checkpoint. Rollback records are moved after all manifests, so that a run never resumes from a
// checkpoint that a rollback gave up. If `before` is given, moves only files of attempts older than `before`.
// Returns the number of moved manifests.
[[nodiscard]] Result<std::uint64_t> set_lineage_aside(Disk& disk, std::string_view mark,
                                                      std::optional<Attempt> before = {});

// Moves the manifests of the checkpoints that rollbacks gave up to aside/. A checkpoint that a rollback gave
// up is ignored as soon as the rollback is recorded, even if its manifest is not moved yet. Moving the
// manifests helps users, and programs that do not read rollback records.
[[nodiscard]] Result<std::uint64_t> set_rolled_back_aside(Disk& disk, std::span<const Rollback> in_force,
                                                          std::string_view mark);

}  // namespace ratoon::checkpoint
