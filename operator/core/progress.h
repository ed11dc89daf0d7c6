// How far the job is: steps, what is to come, the loss and the newest checkpoint, from what the processes of
// the current attempt say.
#pragma once

#include <optional>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/api/world.h"
#include "operator/core/decision.h"
#include "operator/core/observation.h"

namespace ratoon::core {

// Steps only move forward within an attempt, and so does the checkpoint but for what is taken back; beats of
// a dead attempt tell of nothing new.
void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// Whether one that read it again says that it is damaged. Others, who only saw it committed, may call it
// durable long after that.
[[nodiscard]] bool is_taken_back(const std::vector<api::ProcessFacts>& processes, Attempt attempt, Step step);

// For people, where the newest checkpoint is an older one than before.
[[nodiscard]] std::vector<Action> tell_of_damage(const std::optional<ResumePoint>& before,
                                                 const std::optional<ResumePoint>& after);

// What a world saved last before it left: no beat tells it any more, those who wait for the next one do.
void note_left(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status);

// Where the training left its weights, as soon as the process that wrote them, or its pod, has said so.
void note_final_weights(const Observation& seen, api::TrainingJobStatus& status);

}  // namespace ratoon::core
