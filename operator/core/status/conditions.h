// This folder: the job's status, for people and other controllers. Here: the status as Kubernetes conditions,
// derived from the other fields; kubectl wait and other controllers read them. A condition is added when it
// is first true, and stays with its present value. Its time changes only with the value, so that an unchanged
// job needs no write.
#pragma once

#include "operator/core/observation.h"

namespace ratoon::core {

// Running, Recovering, Suspended, Succeeded, Failed; and Scheduled, with the scheduler's message while no
// node takes a member. Also sets the fields of the scale subresource.
void note_conditions(const Observation& seen, api::TrainingJobStatus& status);

// InvalidSpec: whether the job cannot be served as it is. If a job cannot be decoded, the condition is set
// elsewhere: here the job has been decoded.
void note_validity(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
