// Maps the observation of one job and the current time to the next decision.
//
// Laws (tests/property/operator/reconcile_laws_test.cpp): deterministic; when nothing changes, nothing is
// done; safe after any prefix of its own actions; attempts and restart counts never decrease; a world is
// given up only for a process that was lost or left; Succeeded and Failed are final.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

[[nodiscard]] Decision reconcile(const Observation& seen, Timestamp now);

}  // namespace ratoon::core
