// Refuses a PersistentVolumeClaim that only one node can mount for a job of several members: its pods would
// wait for each other forever. The operator checks the claim before it creates the job's first pod, and never
// for a job that already trains.
#pragma once

#include <string>

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Returns whether the next decision needs the claim, so that the caller must read it: the job may have
// several members, names a claim, has no pod and has not trained yet.
[[nodiscard]] bool needs_volume_claim(const Observation& seen);

// Returns, for people, why several nodes cannot mount the claim. Returns an empty text if several nodes can
// mount the claim, or if the claim does not exist, which the scheduler reports.
[[nodiscard]] std::string find_volume_claim_fault(const Observation& seen);

// Removes the creation of pods from the decision, and explains the reason in the status.
void withhold_pods(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
