#include "operator/core/status/progress.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "base/contract/resume_point.h"
#include "operator/core/world/fresh_start.h"

namespace ratoon::core {

namespace {

// Rounds to six significant digits, which are precise enough for users. JSON keeps six digits exactly, so a
// value that is read back is equal to the stored value.
double round_to_six_digits(double value) {
  constexpr int kDigits = 6;
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.begin(), text.end(), value, std::chars_format::general, kDigits);
  std::from_chars(text.begin(), written.ptr, value);
  return value;
}

ProgressEstimate round_to_six_digits(const ProgressEstimate& told) {
  ProgressEstimate kept;
  if (told.total > 0) kept = {.position = told.position, .total = told.total, .unit = told.unit, .loss = {}};
  kept.best = told.best;
  if (told.loss && std::isfinite(*told.loss)) kept.loss = round_to_six_digits(*told.loss);
  return kept;
}

void record_last_checkpoint(const InventoryEntry& entry, api::TrainingJobStatus& status) {
  if (!entry.is_complete || !is_own_checkpoint(status, entry.attempt)) return;
  // A checkpoint of a step proves that the step was completed.
  if (entry.attempt == status.attempt) status.step = std::max(status.step, entry.step);
  const auto& last = status.last_checkpoint;
  if (last && last->attempt == entry.attempt && last->step == entry.step && is_on_shared_storage(entry))
    status.last_checkpoint_tier = entry.tier;  // all members can reach it from now on
  if (last && std::pair(last->attempt, last->step) >= std::pair(entry.attempt, entry.step)) return;
  status.last_checkpoint = ResumePoint{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  status.last_checkpoint_tier = entry.tier;
}

bool has_found_checkpoint_damaged(const api::ProcessFacts& process, Attempt attempt, Step step) {
  if (!process.beat) return false;
  return std::ranges::any_of(process.beat->damaged, [&](const InventoryEntry& entry) {
    return entry.attempt == attempt && entry.step == step;
  });
}

}  // namespace

bool is_reported_damaged(const std::vector<api::ProcessFacts>& processes, Attempt attempt, Step step) {
  return std::ranges::any_of(
      processes, [&](const auto& process) { return has_found_checkpoint_damaged(process, attempt, step); });
}

void note_progress(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status) {
  // Only a process that is in the current attempt can revoke the newest checkpoint. Processes that wait for
  // the next attempt report a new list of their checkpoints instead.
  const auto& last = status.last_checkpoint;
  const bool is_damaged = last && std::ranges::any_of(processes, [&](const auto& process) {
                            return process.beat && process.beat->attempt == status.attempt &&
                                   has_found_checkpoint_damaged(process, last->attempt, last->step);
                          });
  if (is_damaged) {
    status.last_checkpoint.reset();
    status.last_checkpoint_tier.clear();
  }
  for (const auto& process : processes) {
    if (!process.beat || process.beat->attempt != status.attempt) continue;
    status.step = std::max(status.step, process.beat->step);
    if (process.beat->outlook) status.outlook = round_to_six_digits(*process.beat->outlook);
    const auto& committed = process.beat->committed;
    if (committed && !is_reported_damaged(processes, committed->attempt, committed->step))
      record_last_checkpoint(*committed, status);
  }
}

void record_steps_of_left_world(const Observation& seen, api::TrainingJobStatus& status) {
  const Attempt newest = seen.job.status.ledger.newest_attempt;
  if (newest.value() == 0) return;  // the folder may have the history of an older run
  for (const auto& process : seen.processes)
    if (process.join_request && process.join_request->left_attempt >= newest)
      status.step = std::max(status.step, process.join_request->left_step);
}

std::vector<Action> report_damaged_checkpoint(const std::optional<ResumePoint>& before,
                                              const std::optional<ResumePoint>& after) {
  if (!before || (after && !is_newer(*before, *after))) return {};
  return {EmitEvent{
      .is_warning = true,
      .reason = "CheckpointUnreadable",
      .message = "the checkpoint of step " + std::to_string(before->step.value()) + " is damaged; " +
                 (after ? "the checkpoint of step " + std::to_string(after->step.value()) + " is the newest"
                        : "there is no other checkpoint") +
                 " until the next save"}};
}

void record_saves_before_leaving(const std::vector<api::ProcessFacts>& processes,
                                 api::TrainingJobStatus& status) {
  for (const auto& process : processes) {
    if (!process.join_request || process.join_request->left_attempt != status.attempt) continue;
    for (const auto& entry : process.join_request->inventory)
      if (entry.attempt == status.attempt && is_on_shared_storage(entry))
        record_last_checkpoint(entry, status);
  }
}

void record_save_location(const std::vector<api::ProcessFacts>& processes, api::TrainingJobStatus& status) {
  const auto told =
      std::ranges::find_if(processes, [](const auto& process) { return !process.save_location.empty(); });
  if (told != processes.end()) status.save_location = told->save_location;
}

void record_run_results(const Observation& seen, api::TrainingJobStatus& status) {
  const auto note = [&status](const auto& member) {
    if (!member.is_completed) return;
    if (!member.weights.empty()) status.final_weights = member.weights;
    // If several ranks report different reasons for finish(), the job's status keeps the first reason.
    if (status.finish_reason.empty()) status.finish_reason = member.finish_reason;
  };
  std::for_each(seen.pods.begin(), seen.pods.end(), note);
  std::for_each(seen.processes.begin(), seen.processes.end(), note);
}

}  // namespace ratoon::core
