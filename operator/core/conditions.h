// The status in Kubernetes' words, from the facts of the same status: what kubectl wait and other controllers
// look at. A condition appears when it first holds and tells from then on whether it does; its time changes
// with its truth alone, so that an unchanged job is never written.
#pragma once

#include "operator/core/observation.h"

namespace ratoon::core {

// Running, Recovering, Suspended, Succeeded, Failed; Scheduled, which carries the scheduler's message while
// no node takes a member. Notes what the scale subresource shows, too.
void note_conditions(const Observation& seen, api::TrainingJobStatus& status);

// InvalidSpec: whether the job cannot be served as it is. Where it could not even be read, somebody else
// noted that; who decides has read it.
void note_validity(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
