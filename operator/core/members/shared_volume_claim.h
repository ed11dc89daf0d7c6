// A claim that only one node can mount does not work for a job of several members: its pods would wait for
// each other forever. The claim is checked before the first pod is created; a job that already trains is not
// checked.
#pragma once

#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Whether the next decision depends on the claim, so that it must be read: the job may have several members,
// names a claim, has no pod and has trained nothing yet.
[[nodiscard]] bool needs_volume_claim(const Observation& seen);

// The reason why the claim cannot be shared, for people. The value is empty if the claim can be shared, or if
// the claim does not exist: then the scheduler reports the missing claim.
[[nodiscard]] std::string find_volume_claim_fault(const Observation& seen);

// Removes the creation of pods from the decision, and explains the reason in the status.
void withhold_pods(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
