#include "operator/core/world/fresh_start.h"

namespace ratoon::core {

void record_fresh_start_request(const api::TrainingJob& job, api::TrainingJobStatus& status) {
  const bool is_first_look = job.status.attempt.value() == 0;
  if (is_first_look && job.spec.checkpoint_policy.overwrites) status.first_own_attempt = Attempt(0);
}

void record_first_attempt(api::TrainingJobStatus& status) {
  if (status.first_own_attempt == Attempt(0)) status.first_own_attempt = status.attempt;
}

bool is_own_checkpoint(const api::TrainingJobStatus& status, Attempt attempt) {
  if (!status.first_own_attempt) return true;
  return status.first_own_attempt->value() != 0 && attempt >= *status.first_own_attempt;
}

std::vector<InventoryEntry> own_checkpoints_of(const api::TrainingJobStatus& status,
                                               std::vector<InventoryEntry> inventory) {
  std::erase_if(inventory,
                [&](const InventoryEntry& entry) { return !is_own_checkpoint(status, entry.attempt); });
  return inventory;
}

std::vector<JoinRequest> own_checkpoints_of(const api::TrainingJobStatus& status,
                                            std::vector<JoinRequest> joiners) {
  for (auto& joiner : joiners) joiner.inventory = own_checkpoints_of(status, std::move(joiner.inventory));
  return joiners;
}

}  // namespace ratoon::core
