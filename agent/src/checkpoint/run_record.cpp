#include "agent/src/checkpoint/run_record.h"

namespace ratoon::checkpoint {

void PendingWishes::join(const PendingWishes& other) {
  save = save || other.save;
  if (keep.empty()) keep = other.keep;
  if (finish.empty()) finish = other.finish;
}

void RunRecord::join(const RunRecord& other) {
  wishes.join(other.wishes);
  // In the run's last step no rank has heard of what another one asked for in it.
  if (keep.empty() || (keep == kAnotherRank && !other.keep.empty())) keep = other.keep;
  if (early_end && other.early_end && early_end->reason == kAnotherRank)
    early_end->reason = other.early_end->reason;
}

}  // namespace ratoon::checkpoint
