#include "operator/local/folder/run_journal.h"

#include <algorithm>
#include <cmath>

namespace ratoon::local {
namespace {

using nlohmann::json;

double round_to_thousandths(double number) {
  constexpr double kThousand = 1000;
  return std::round(number * kThousand) / kThousand;
}

void keep_newest(json& list) {
  while (list.size() > RunJournal::kEntriesMax) list.erase(list.begin());
}

json entries_in(const json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_array()) return json::array();
  json kept = json::array();
  for (const auto& entry : *found)
    if (entry.is_object()) kept.push_back(entry);
  keep_newest(kept);
  return kept;
}

}  // namespace

void RunJournal::restore(const json& document) {
  if (!document.is_object()) return;
  recoveries_ = entries_in(document, "recoveries");
  requested_losses_ = entries_in(document, "on_purpose");
}

void RunJournal::note_recovery(const api::Disruption& recovery) {
  recoveries_.push_back({{"member", recovery.member},
                         {"node", recovery.node},
                         {"reason", recovery.reason},
                         {"time", format_rfc3339(recovery.time)},
                         {"lost_steps", recovery.lost_steps},
                         {"seconds", round_to_thousandths(recovery.phases.total_seconds())}});
  keep_newest(recoveries_);
}

void RunJournal::note_loss(WallTime time, const std::string& kind, const std::string& target,
                           std::optional<double> notice_seconds, const std::string& asked_by) {
  requested_losses_.push_back(
      {{"kind", kind}, {"target", target}, {"time", format_rfc3339(time)}, {"asked_by", asked_by}});
  if (notice_seconds) requested_losses_.back()["notice_seconds"] = round_to_thousandths(*notice_seconds);
  keep_newest(requested_losses_);
}

void RunJournal::note_progress(const std::vector<api::ProcessFacts>& processes,
                               const api::TrainingJobStatus& status, Timestamp now) {
  if (status.attempt != attempt_ || !status.is_world_formed) progress_rate_.restart();
  attempt_ = status.attempt;
  for (const auto& process : processes) {
    if (!process.beat || !process.beat->outlook || process.beat->attempt != status.attempt) continue;
    outlook_ = process.beat->outlook;
    if (!status.is_world_formed) continue;
    // Compute the rate with the time at which the heartbeat arrived. This observation is later, and the
    // process may have made further steps since the heartbeat.
    const Timestamp heard = std::min(now, process.last_heard);
    progress_rate_.add_point(
        {.at = heard, .steps = process.beat->step.value(), .position = outlook_->position});
  }
}

json RunJournal::describe() const {
  json document = {{"recoveries", recoveries_}, {"on_purpose", requested_losses_}};
  if (!outlook_) return document;
  json& progress = document["progress"] = {
      {"position", outlook_->position}, {"total", outlook_->total}, {"unit", outlook_->unit}};
  if (outlook_->loss) progress["loss"] = *outlook_->loss;
  if (!outlook_->best.empty()) progress["best"] = outlook_->best;
  if (const auto rate = progress_rate_.steps_per_second())
    progress["steps_per_second"] = round_to_thousandths(*rate);
  const auto left = outlook_->total == 0 ? std::nullopt : progress_rate_.seconds_to(outlook_->total);
  if (left) progress["seconds_left"] = round_to_thousandths(*left);
  return document;
}

}  // namespace ratoon::local
