// The next world of members without the agent: it stands as soon as all their pods run.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Says in the status that the group runs, or how many of it do and what the others wait for.
void form_group(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
