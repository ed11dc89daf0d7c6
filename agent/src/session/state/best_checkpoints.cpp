#include "agent/src/session/state/best_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/core/split_join.h"
#include "base/core/utf8.h"

namespace ratoon::session {
namespace {

using checkpoint::BestCheckpoint;
using checkpoint::BestCheckpointList;

bool is_better(double value, double than, const KeepBest& how) {
  return how.is_lower_better ? value < than : value > than;
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

const BestCheckpointList* BestCheckpoints::find(std::string_view name) const {
  const auto found = std::ranges::find(lists_, name, &BestCheckpointList::name);
  return found == lists_.end() ? nullptr : &*found;
}

std::string BestCheckpoints::note_save_best_call(std::string_view name, const KeepBest& how) {
  constexpr std::size_t kNameMax = checkpoint::kBestNameBytesMax;
  const std::string called = "save_best(\"" + printable(cut_text(std::string(name), kNameMax)) + "\")";
  const bool is_name = !name.empty() && name.size() <= kNameMax && printable(name) == name;
  if (!is_name) {
    return called + ": a name has 1 to " + std::to_string(kNameMax) + " bytes of printable UTF-8";
  }
  if (how.keep < 1 || how.keep > checkpoint::kBestKeptMax) {
    return called + ": keep is " + std::to_string(how.keep) + ", and may be 1 to " +
           std::to_string(checkpoint::kBestKeptMax);
  }
  if (!names_called_in_step_.emplace(name).second)
    return called + " is called twice in one step: call it once for each name";
  const auto new_names =
      std::ranges::count_if(values_of_step_, [&](const auto& one) { return find(one.first) == nullptr; });
  if (find(name) == nullptr &&
      lists_.size() + static_cast<std::size_t>(new_names) >= checkpoint::kBestNamesMax) {
    return called + ": a run has at most " + std::to_string(checkpoint::kBestNamesMax) +
           " names of values that save_best() compares";
  }
  return "";
}

void BestCheckpoints::resume(std::vector<BestCheckpointList> lists) {
  lists_ = std::move(lists);
  update_summary();
}

void BestCheckpoints::remove_missing(const IsMissing& is_missing) {
  for (BestCheckpointList& list : lists_)
    std::erase_if(list.kept, [&](const BestCheckpoint& one) { return is_missing(one.id); });
  std::erase_if(lists_, [](const BestCheckpointList& list) { return list.kept.empty(); });
  update_summary();
}

bool BestCheckpoints::note_value(std::string_view name, double value, const KeepBest& how,
                                 const IsMissing& is_missing) {
  if (!std::isfinite(value)) return false;
  remove_missing(is_missing);
  const BestCheckpointList* const list = find(name);
  const bool is_best = list == nullptr || list->kept.size() < how.keep ||
                       is_better(value, list->kept.at(how.keep - 1).value, how);
  if (is_best) values_of_step_.emplace(name, StepValue{.value = value, .how = how});
  return is_best;
}

std::string BestCheckpoints::record_saved(const checkpoint::CheckpointId& id) {
  std::vector<std::string> reasons;
  for (const auto& [name, noted] : std::exchange(values_of_step_, {})) {
    if (find(name) == nullptr) lists_.push_back({.name = name});
    BestCheckpointList& list = *std::ranges::find(lists_, name, &BestCheckpointList::name);
    std::vector<BestCheckpoint>& kept = list.kept;
    list.keep = noted.how.keep;
    // If two values are equal, the earlier value counts as better.
    const auto at = std::ranges::find_if(
        kept, [&](const BestCheckpoint& one) { return is_better(noted.value, one.value, noted.how); });
    kept.insert(at, {.id = id, .value = noted.value});
    kept.resize(std::min<std::size_t>(kept.size(), list.keep + checkpoint::kBestSpareEntries));
    reasons.push_back("best " + name + ": " + text_of(noted.value));
  }
  update_summary();
  return reasons.empty() ? "" : checkpoint::mark_as_best(join(reasons, ", "));
}

void BestCheckpoints::update_summary() {
  summary_ = join(lists_, ", ", [](const BestCheckpointList& list) {
    const BestCheckpoint& best = list.kept.front();
    return list.name + " " + text_of(best.value) + " at step " + std::to_string(best.id.step.value());
  });
}

}  // namespace ratoon::session
