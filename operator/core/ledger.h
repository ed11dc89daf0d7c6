// What the job's time is spent on, booked part by part into its status: a change of leader, of pods or of the
// runner loses none of it. What only trainers can tell apart, saves and the wait for data, is in their own
// account (docs/reference/metrics.md).
#pragma once

#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Books what went on until now where another part begins with this decision. The time since the last sign of
// life of who is lost was none that trained: it hung, or the loss was yet to be noticed.
void note_ledger(const Observation& seen, Timestamp now, Decision& decision);

// Of a job whose runner is gone, nobody knows when: it trained until its last step.
void end_with_last_step(api::TrainingJobStatus& status);

}  // namespace ratoon::core
