// The next world of members without the agent: it is formed as soon as all their pods run.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Sets the status to running, or to the number of members that run and the reason why the others wait.
void form_group(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
