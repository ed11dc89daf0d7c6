// How far the job is: steps and the newest checkpoint, from what the processes of the current attempt say.
#pragma once

#include <vector>

#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Both only move forward within an attempt; beats of a dead attempt tell nothing.
void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// What a world saved last before it left: no beat tells it any more, those who wait for the next one do.
void note_left(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// Where the training left its weights, as soon as the process that wrote them, or its pod, has said so.
void note_final_weights(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
