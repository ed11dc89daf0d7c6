// A fresh start (`overwrite` in the spec): a job starts over although its run name has checkpoints. From its
// first decision on, a job with `overwrite` uses only its own checkpoints: it never resumes from a checkpoint
// older than its first world. Restarts of the job's members keep the checkpoints that the job itself wrote.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// Records that the user asked for a fresh start, but only in the first decision about a job.
void record_fresh_start_request(const api::TrainingJob& job, api::TrainingJobStatus& status);

// Records the first world of the job: checkpoints from this attempt on are the job's own.
void record_first_attempt(api::TrainingJobStatus& status);

// Returns whether a checkpoint of this attempt may be this job's own and not another run's.
[[nodiscard]] bool is_own_checkpoint(const api::TrainingJobStatus& status, Attempt attempt);

// Returns the checkpoints that the processes can read, without the checkpoints of another run.
[[nodiscard]] std::vector<InventoryEntry> own_checkpoints_of(const api::TrainingJobStatus& status,
                                                             std::vector<InventoryEntry> inventory);
[[nodiscard]] std::vector<JoinRequest> own_checkpoints_of(const api::TrainingJobStatus& status,
                                                          std::vector<JoinRequest> joiners);

}  // namespace ratoon::core
