// Sums up in the job's status how the job spent its time, part by part (useful, restarting, ...). The sums
// survive a change of leader, pods or `ratoon run`. Only trainers can measure saves and waits for data: see
// their metrics (docs/reference/metrics.md).
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Counts steps that a new world repeats because it begins at `resumed`. Call this before status.step is set.
void count_steps_made_again(Step resumed, api::TrainingJobStatus& status);

// If another part begins with this decision, adds the time of the last part to the sums. The time between a
// lost member's last sign of life and the detection of its loss does not count as training.
void note_ledger(const Observation& seen, Timestamp now, Decision& decision);

// If a job's `ratoon run` ended at an unknown time, counts the training time until the last known step.
void end_with_last_step(api::TrainingJobStatus& status);

}  // namespace ratoon::core
