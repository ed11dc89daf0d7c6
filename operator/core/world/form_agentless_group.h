// Forms the next world of members without the agent library, as soon as the pods of all members run.
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Sets the status to Running, or writes into the status how many members run and why the other members wait.
void form_group(const Observation& seen, Decision& decision);

}  // namespace ratoon::core
