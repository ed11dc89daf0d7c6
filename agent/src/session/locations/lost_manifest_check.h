// Detects that manifests of a run have been lost. A manifest is the file that lists the tensor files of one
// checkpoint. Without this check, a start would take the run for a new run, and would remove the tensor files
// of its checkpoints.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// Returns kCorrupted if tensor files or a link in a location belong to a checkpoint without a manifest, and
// this checkpoint is newer than all checkpoints that are `listed` in any location of the run. The error's
// message says how to repair the location.
[[nodiscard]] Result<void> check_no_manifests_lost(const checkpoint::Tiers& tiers, const Options& options,
                                                   checkpoint::CallsWithTimeout& calls,
                                                   const checkpoint::Inventory& listed);

}  // namespace ratoon::session
