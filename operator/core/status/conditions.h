// operator/core/status/: the job's status, for people and other controllers. The status as Kubernetes
// conditions, derived from the other fields; kubectl wait and other controllers read them. A condition is
// added when it is first true, and stays with its present value. The time of a condition changes only with
// its value, so that an unchanged job needs no write.
#pragma once

#include "operator/core/observation.h"

namespace ratoon::core {

// The conditions are Running, Recovering, Suspended, Succeeded, Failed; and Scheduled, with the scheduler's
// message while no node takes a member. The function also sets the fields of the scale subresource.
void note_conditions(const Observation& seen, api::TrainingJobStatus& status);

// InvalidSpec: whether the job cannot be served with its present spec. If a job cannot be decoded, the
// condition is set elsewhere: this function has a decoded job.
void note_validity(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
