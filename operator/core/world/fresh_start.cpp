#include "operator/core/world/fresh_start.h"

namespace ratoon::core {

void note_fresh_start_request(const api::TrainingJob& job, api::TrainingJobStatus& status) {
  const bool is_first_look = job.status.attempt.value() == 0;
  if (is_first_look && job.spec.checkpoint_policy.overwrites) status.lineage_start = Attempt(0);
}

void begin_lineage(api::TrainingJobStatus& status) {
  if (status.lineage_start == Attempt(0)) status.lineage_start = status.attempt;
}

bool is_own(const api::TrainingJobStatus& status, Attempt attempt) {
  if (!status.lineage_start) return true;
  return status.lineage_start->value() != 0 && attempt >= *status.lineage_start;
}

std::vector<InventoryEntry> own_checkpoints_of(const api::TrainingJobStatus& status,
                                               std::vector<InventoryEntry> inventory) {
  std::erase_if(inventory, [&](const InventoryEntry& entry) { return !is_own(status, entry.attempt); });
  return inventory;
}

std::vector<JoinRequest> own_checkpoints_of(const api::TrainingJobStatus& status,
                                            std::vector<JoinRequest> joiners) {
  for (auto& joiner : joiners) joiner.inventory = own_checkpoints_of(status, std::move(joiner.inventory));
  return joiners;
}

}  // namespace ratoon::core
