// How the job's time was spent, added up part by part in its status: a change of leader, of pods or of the
// runner loses none of it. Saves and the wait for data, which only trainers can measure, are in the trainers'
// own metrics (docs/reference/metrics.md).
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// A world is formed that begins at step `resumed`. Call it before the status gets that step.
void count_steps_made_again(Step resumed, api::TrainingJobStatus& status);

// Adds the time of the last part if another part begins with this decision. The time since the last sign of
// life of a lost member was no training: the member hung, or its loss was not detected yet.
void note_ledger(const Observation& seen, Timestamp now, Decision& decision);

// For a job whose runner ended at an unknown time: the training counts until its last step.
void end_with_last_step(api::TrainingJobStatus& status);

}  // namespace ratoon::core
