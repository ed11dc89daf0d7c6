// Detects that manifests of a run have been lost. A manifest is the file that lists the tensor files of one
// checkpoint. Without this check, a start would take the run for a new run, and would remove the tensor files
// of its checkpoints.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// Returns kCorrupted if tensor files or a link belong to a checkpoint without a manifest. The error's message
// says how to repair the folder.
[[nodiscard]] Result<void> check_no_manifests_lost(const checkpoint::Tiers& tiers, const Options& options,
                                                   checkpoint::CallsWithTimeout& calls);

}  // namespace ratoon::session
