// Maps the observation of one job and the current time to the next decision.
//
// Laws of reconcile() (tests/property/operator/reconcile_laws_test.cpp): it is deterministic; without a
// change it does nothing; it stays correct if only some of its actions were done; attempts and restart counts
// never decrease; it ends a world only if a process was lost or left; Succeeded and Failed are final.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

[[nodiscard]] Decision reconcile(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
