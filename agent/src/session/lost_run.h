// Whether the places of a run have lost its manifests. A start that took it for a new run would remove its
// packs.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// kCorrupted, with the ways on, where packs or a link tell of a checkpoint that no manifest tells of.
[[nodiscard]] Result<void> check_that_no_manifests_were_lost(const checkpoint::Tiers& tiers,
                                                             const Options& options,
                                                             checkpoint::PatientCalls& calls);

}  // namespace ratoon::session
