// Detects that the locations of a run have lost its manifests. A start that took the run for a new run would
// remove its packs.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// Returns kCorrupted, with remedies, if packs or a link refer to a checkpoint without a manifest.
[[nodiscard]] Result<void> check_no_manifests_lost(const checkpoint::Tiers& tiers, const Options& options,
                                                   checkpoint::CallsWithTimeout& calls);

}  // namespace ratoon::session
