#include "operator/runtime/scheduling/requested_pauses.h"

#include <algorithm>

namespace ratoon::runtime {

void RequestedPauses::note(const JobKey& job, Duration asked, Timestamp now) {
  const MutexLock lock(mutex_);
  std::erase_if(ends_, [now](const auto& item) { return item.second <= now; });
  if (asked > Duration::zero()) ends_[job] = now + std::min(asked, kMax);
}

std::optional<Timestamp> RequestedPauses::end_of(const JobKey& job, Timestamp now) const {
  const MutexLock lock(mutex_);
  const auto end = ends_.find(job);
  return end == ends_.end() || end->second <= now ? std::nullopt : std::optional(end->second);
}

std::size_t RequestedPauses::size() const {
  const MutexLock lock(mutex_);
  return ends_.size();
}

}  // namespace ratoon::runtime
