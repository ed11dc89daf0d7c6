// Beginning anew under a name that has checkpoints. A job that was made to do so is bound to its own lineage
// from its first look on: nothing older than its first world is ever resumed, and nothing that one of its own
// worlds saved is ever given up for the wish, however often its members start.
#pragma once

#include <vector>

#include "operator/core/observation.h"

namespace ratoon::core {

// At the first look at a job, and never again.
void note_wish_to_begin_anew(const api::TrainingJob& job, api::TrainingJobStatus& status);

// Its first world is formed: here its lineage begins.
void begin_lineage(api::TrainingJobStatus& status);

// Whether a checkpoint of that attempt may be this job's.
[[nodiscard]] bool is_own(const api::TrainingJobStatus& status, Attempt attempt);

// What the processes can reach, without what is another run's.
[[nodiscard]] std::vector<InventoryEntry> own_of(const api::TrainingJobStatus& status,
                                                 std::vector<InventoryEntry> inventory);
[[nodiscard]] std::vector<JoinRequest> own_of(const api::TrainingJobStatus& status,
                                              std::vector<JoinRequest> joiners);

}  // namespace ratoon::core
