#include "agent/src/checkpoint/format/run_record.h"

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

void PendingRequests::join(const PendingRequests& other) {
  save = save || other.save;
  if (keep.empty()) keep = other.keep;
  if (finish.empty()) finish = other.finish;
}

void RunRecord::join(const RunRecord& other) {
  requests.join(other.requests);
  // A rank learns of the requests of other ranks one step later, so in the run's last step it has not learned
  // of the requests that other ranks made in that step.
  const bool gives_way = keep.empty() || keep == kAnotherRank || is_marked_as_best(keep);
  if (gives_way && !other.keep.empty()) keep = other.keep;
  if (early_end && other.early_end && early_end->reason == kAnotherRank)
    early_end->reason = other.early_end->reason;
}

}  // namespace ratoon::checkpoint
