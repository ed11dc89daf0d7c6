// Sums up in the job's status how the job spent its time, part by part (useful, restarting, ...). The sums
// survive a change of leader, pods or `ratoon run`. Only trainers can measure saves and waits for data: see
// their metrics (docs/reference/metrics.md).
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Counts steps that a new world repeats because it begins at `resumed`. Call before status.step is set.
void count_steps_made_again(Step resumed, api::TrainingJobStatus& status);

// Adds up the time of the last part if another part begins with this decision. The time between a lost
// member's last sign of life and the detection of its loss does not count as training.
void note_ledger(const Observation& seen, Timestamp now, Decision& decision);

// For a job whose `ratoon run` ended at an unknown time: counts training time until the last known step.
void end_with_last_step(api::TrainingJobStatus& status);

}  // namespace ratoon::core
