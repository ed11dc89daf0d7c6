// Refuses a job of several members if only one node can mount its PersistentVolumeClaim, because the pods of
// the job would wait for each other forever. The operator checks the claim before it creates the job's first
// pod, and never for a job that already trains.
#pragma once

#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether the caller must read the claim for the next decision: the job may have several members,
// names a claim, has no pod and has not trained yet.
[[nodiscard]] bool needs_volume_claim(const Observation& seen);

// Returns, for people, why several nodes cannot mount the claim. Returns an empty text if several nodes can
// mount the claim, or if the claim does not exist (the scheduler reports a missing claim).
[[nodiscard]] std::string find_volume_claim_fault(const Observation& seen);

// Removes the creation of pods from the decision, and explains why in the status.
void withhold_pod_creation(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
