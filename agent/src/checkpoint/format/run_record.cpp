#include "agent/src/checkpoint/format/run_record.h"

#include <algorithm>
#include <cstdio>

#include "base/core/utf8.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kBestMark = " (save_best)";

}  // namespace

std::string mark_as_best(std::string reason) {
  return cut_text(std::move(reason), kReasonBytesMax - kBestMark.size()) + std::string(kBestMark);
}

bool is_marked_as_best(std::string_view reason) {
  return reason.ends_with(kBestMark);
}

std::vector<KeptBest> find_kept_best(const std::vector<BestCheckpointList>& lists,
                                     const std::set<CheckpointId>& there) {
  std::vector<KeptBest> found;
  for (const BestCheckpointList& list : lists) {
    std::uint64_t left = list.keep;
    for (const BestCheckpoint& one : list.kept) {
      if (left == 0) break;
      if (!there.contains(one.id)) continue;
      found.push_back({.name = list.name, .checkpoint = one});
      --left;
    }
  }
  return found;
}

std::vector<std::string> describe_kept_best(const std::vector<KeptBest>& kept) {
  std::vector<std::string> texts;
  const std::string* name = nullptr;
  for (const KeptBest& one : kept) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", one.checkpoint.value);
    const std::string step = value + (" at step " + std::to_string(one.checkpoint.id.step.value()));
    if (name != nullptr && *name == one.name)
      texts.back() += ", " + step;
    else
      texts.push_back(one.name + ": " + step);
    name = &one.name;
  }
  return texts;
}

void PendingRequests::merge_requests(const PendingRequests& other) {
  save = save || other.save;
  if (keep.empty()) keep = other.keep;
  if (finish.empty()) finish = other.finish;
}

void RunRecord::merge_requests(const RunRecord& other) {
  requests.merge_requests(other.requests);
  // If another rank requested the save in the run's last step, rank 0's `keep` is empty, because a rank
  // learns of the requests of other ranks one step later.
  const bool gives_way = keep.empty() || keep == kReasonOfAnotherRank || is_marked_as_best(keep);
  if (gives_way && !other.keep.empty()) keep = other.keep;
  if (early_end && other.early_end && early_end->reason == kReasonOfAnotherRank)
    early_end->reason = other.early_end->reason;
  for (const UnpinnedStep& one : other.unpinned) {
    const auto own = std::ranges::find(unpinned, one.step, &UnpinnedStep::step);
    if (own != unpinned.end())
      own->since = std::max(own->since, one.since);
    else if (unpinned.size() < kUnpinnedMax)
      unpinned.push_back(one);
  }
}

}  // namespace ratoon::checkpoint
