// The job's progress: steps, the rest of the training, the loss and the newest checkpoint, from the messages
// of processes of the current attempt.
#pragma once

#include <optional>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Steps only grow within an attempt. The checkpoint does not decrease either, unless it is revoked as
// damaged. Beats of an old attempt change nothing.
void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// The newest step of the newest world, as processes that wait for the next world know it: they made it, or
// read it in the run's history. The process that knows it may be lost before the next world is formed.
void note_left_steps(const Observation& seen, api::TrainingJobStatus& status);

// Whether a process that read the checkpoint again reports it as damaged. Other processes, which only saw the
// commit, may report it as durable long after that.
[[nodiscard]] bool is_reported_damaged(const std::vector<api::ProcessFacts>& processes, Attempt attempt,
                                       Step step);

// Returns an event if the newest checkpoint is now older than before.
[[nodiscard]] std::vector<Action> report_damaged_checkpoint(const std::optional<ResumePoint>& before,
                                                            const std::optional<ResumePoint>& after);

// Records the last checkpoint that a world saved before it ended: processes that wait for the next world
// report it, since no further beat does.
void note_saves_before_leaving(const std::vector<api::ProcessFacts>& processes,
                               api::TrainingJobStatus& status);

// Records the weights file that the training wrote, and the reason of finish(), once a completed process, or
// its pod, reported it.
void note_results(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
