// A claim that only one node can mount is none for a job of several members: its pods would wait for each
// other without end. It is looked at before the first of them is made; a job that trains is left alone.
#pragma once

#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Whether what is made next depends on the claim, so that it is to be read: the job may have several members,
// names a claim, has no pod and has trained nothing yet.
[[nodiscard]] bool asks_for_claim(const Observation& seen);

// Why the claim cannot be shared, for people; empty where it can, or does not exist: then the scheduler
// tells.
[[nodiscard]] std::string find_claim_fault(const Observation& seen);

// Takes the pods back that the decision would make, and says so in its status.
void hold_back(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
