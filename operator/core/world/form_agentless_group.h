// The next world of members without the agent: it is formed as soon as all their pods run.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Sets the status to running, or to how many members run and what the others wait for.
void form_group(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
