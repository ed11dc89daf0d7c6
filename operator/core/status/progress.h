// Updates the job's progress from the messages of the current attempt's processes: steps, remaining training,
// training loss and newest checkpoint.
#pragma once

#include <optional>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Within an attempt the step never decreases. An older checkpoint replaces the newest checkpoint only if the
// newest one turns out to be damaged. Heartbeats of an old attempt do not change the progress.
void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// Records the newest step of the last world. A process that waits for the next world reports the newest step
// that it made or found in the run's history. The function records the step at once, because the process may
// be lost before the next world forms.
void record_steps_of_left_world(const Observation& seen, api::TrainingJobStatus& status);

// Returns whether a process that read the checkpoint again reports it as damaged. A report of damage takes
// precedence over other reports, because a process that saw only the commit may report the checkpoint as
// durable for a long time.
[[nodiscard]] bool is_reported_damaged(const std::vector<api::ProcessFacts>& processes, Attempt attempt,
                                       Step step);

// Returns an event if an older checkpoint is now the newest, because the newest one (`before`) was damaged.
[[nodiscard]] std::vector<Action> report_damaged_checkpoint(const std::optional<ResumePoint>& before,
                                                            const std::optional<ResumePoint>& after);

// Records the last checkpoint that a world saved before it ended. A checkpoint that a world saved just before
// its end is in no heartbeat, but processes that wait for the next world list it.
void record_saves_before_leaving(const std::vector<api::ProcessFacts>& processes,
                                 api::TrainingJobStatus& status);

// Records the save location of the first process that reported one. A process reports its save location when
// it joins.
void record_save_location(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// Records the path of the trained weights, and the reason of an early finish(), as soon as a completed
// process or its pod reports them.
void record_run_results(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
