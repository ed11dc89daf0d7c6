// A fresh start: a new start under a run name that has checkpoints. A job with a fresh start is bound to its
// own lineage from its first decision on. Nothing older than its first world is ever resumed, and its own
// checkpoints are never given up because of the request, for any number of restarts.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// The request takes effect only in the first decision about a job.
void note_fresh_start_request(const api::TrainingJob& job, api::TrainingJobStatus& status);

// Records that the first world is formed: the lineage begins with it.
void begin_lineage(api::TrainingJobStatus& status);

// Whether a checkpoint of the given attempt may be this job's own.
[[nodiscard]] bool is_own(const api::TrainingJobStatus& status, Attempt attempt);

// The checkpoints that the processes can reach, without those of another run.
[[nodiscard]] std::vector<InventoryEntry> own_checkpoints_of(const api::TrainingJobStatus& status,
                                                             std::vector<InventoryEntry> inventory);
[[nodiscard]] std::vector<JoinRequest> own_checkpoints_of(const api::TrainingJobStatus& status,
                                                          std::vector<JoinRequest> joiners);

}  // namespace ratoon::core
