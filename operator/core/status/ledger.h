// Sums up in the job's status how the job spent its time, part by part (useful, restarting, ...). The sums
// survive when the operator's leader, a pod or `ratoon run` is replaced. Only trainers can measure saves and
// waits for data: see their metrics (docs/reference/metrics.md).
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Counts the steps that a new world repeats after step `resumed`, up to the last world's status.step.
void count_repeated_steps(Step resumed, api::TrainingJobStatus& status);

// If another part begins with this decision, adds the time of the previous part to its sum. The time between
// a lost member's last sign of life and the detection of its loss does not count as training.
void update_time_ledger(const Observation& seen, Timestamp now, Decision& decision);

// If the `ratoon run` of a job ended at an unknown time, counts training time only until the last known step.
void end_useful_time_at_last_step(api::TrainingJobStatus& status);

}  // namespace ratoon::core
