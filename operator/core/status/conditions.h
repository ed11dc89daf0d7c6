// operator/core/status/: the job's status, for people and other controllers. conditions.h derives Kubernetes
// conditions from the other fields of the status, for kubectl wait and other controllers. A condition is
// added when it is first true, and stays in the list afterwards. The time of a condition changes only with
// its value, so that an unchanged job needs no write.
#pragma once

#include "operator/core/observation.h"

namespace ratoon::core {

// Sets the conditions Running, Recovering, Suspended, Succeeded, Failed and Scheduled (with the scheduler's
// message while no node has room for a member). Also sets the status's fields for the scale subresource.
void update_conditions(const Observation& seen, api::TrainingJobStatus& status);

// Sets the condition InvalidSpec: the operator cannot run the job with its current spec. broken_job.h makes
// this condition for a job that cannot be decoded.
void set_invalid_spec_condition(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
