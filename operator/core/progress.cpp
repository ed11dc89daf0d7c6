#include "operator/core/progress.h"

#include <algorithm>
#include <utility>

namespace ratoon::core {

void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status) {
  for (const auto& process : processes) {
    if (!process.beat || process.beat->attempt != status.attempt) continue;
    status.step = std::max(status.step, process.beat->step);
    if (!process.beat->committed || !process.beat->committed->is_complete) continue;
    const InventoryEntry& entry = *process.beat->committed;
    const auto& last = status.last_checkpoint;
    if (!last || std::pair(last->attempt, last->step) < std::pair(entry.attempt, entry.step)) {
      status.last_checkpoint =
          ResumePoint{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
    }
  }
}

}  // namespace ratoon::core
