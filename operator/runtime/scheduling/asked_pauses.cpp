#include "operator/runtime/scheduling/asked_pauses.h"

#include <algorithm>

namespace ratoon::runtime {

void AskedPauses::note(const JobKey& job, Duration asked, Timestamp now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ends_, [now](const auto& item) { return item.second <= now; });
  if (asked > Duration::zero()) ends_[job] = now + std::min(asked, kMax);
}

std::optional<Timestamp> AskedPauses::end_of(const JobKey& job, Timestamp now) const {
  const std::lock_guard lock(mutex_);
  const auto end = ends_.find(job);
  return end == ends_.end() || end->second <= now ? std::nullopt : std::optional(end->second);
}

std::size_t AskedPauses::size() const {
  const std::lock_guard lock(mutex_);
  return ends_.size();
}

}  // namespace ratoon::runtime
