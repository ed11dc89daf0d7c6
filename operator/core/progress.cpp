#include "operator/core/progress.h"

#include <algorithm>
#include <utility>

#include "base/contract/resume_point.h"
#include "operator/core/begin_anew.h"

namespace ratoon::core {

namespace {

void note_checkpoint(const InventoryEntry& entry, api::TrainingJobStatus& status) {
  if (!entry.is_complete || !is_own(status, entry.attempt)) return;
  const auto& last = status.last_checkpoint;
  if (last && last->attempt == entry.attempt && last->step == entry.step && is_shared(entry))
    status.last_checkpoint_tier = entry.tier;  // all can reach it from now on
  if (last && std::pair(last->attempt, last->step) >= std::pair(entry.attempt, entry.step)) return;
  status.last_checkpoint = ResumePoint{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  status.last_checkpoint_tier = entry.tier;
}

}  // namespace

void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status) {
  for (const auto& process : processes) {
    if (!process.beat || process.beat->attempt != status.attempt) continue;
    status.step = std::max(status.step, process.beat->step);
    if (process.beat->committed) note_checkpoint(*process.beat->committed, status);
  }
}

void note_left(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status) {
  for (const auto& process : processes) {
    if (!process.waiting || process.waiting->left_attempt != status.attempt) continue;
    for (const auto& entry : process.waiting->inventory)
      if (entry.attempt == status.attempt && is_shared(entry)) note_checkpoint(entry, status);
  }
}

void note_final_weights(const Observation& seen, api::TrainingJobStatus& status) {
  const auto note = [&status](const auto& member) {
    if (member.is_completed && !member.weights.empty()) status.final_weights = member.weights;
  };
  std::for_each(seen.pods.begin(), seen.pods.end(), note);
  std::for_each(seen.processes.begin(), seen.processes.end(), note);
}

}  // namespace ratoon::core
