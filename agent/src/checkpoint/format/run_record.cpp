#include "agent/src/checkpoint/format/run_record.h"

namespace ratoon::checkpoint {

void PendingRequests::join(const PendingRequests& other) {
  save = save || other.save;
  if (keep.empty()) keep = other.keep;
  if (finish.empty()) finish = other.finish;
}

void RunRecord::join(const RunRecord& other) {
  requests.join(other.requests);
  // In the run's last step no rank has learned the requests that other ranks made in that step.
  if (keep.empty() || (keep == kAnotherRank && !other.keep.empty())) keep = other.keep;
  if (early_end && other.early_end && early_end->reason == kAnotherRank)
    early_end->reason = other.early_end->reason;
}

}  // namespace ratoon::checkpoint
