#include "agent/src/checkpoint/run_record.h"

namespace ratoon::checkpoint {

void PendingWishes::join(const PendingWishes& other) {
  save = save || other.save;
  if (keep.empty()) keep = other.keep;
  if (finish.empty()) finish = other.finish;
}

}  // namespace ratoon::checkpoint
