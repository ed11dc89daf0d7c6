// RequestedPauses stores until when the API server asked not to be called again for a job (Retry-After). No
// thread sleeps during a pause: until the end of the pause, a call for the job fails at once, and the job
// waits in the WorkQueue. Calls for other jobs do not wait.
//
// Thread contract: every method may be called from any thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"

namespace ratoon::runtime {

class RequestedPauses {
 public:
  // The longest pause. If the server asks for a longer one, the operator calls it after this time, because
  // the server may have recovered earlier.
  static constexpr Duration kMax = std::chrono::seconds(5);

  void note(const JobKey& job, Duration asked, Timestamp now);
  // Returns the end of the job's pause, or nothing if the server may be called for the job now.
  [[nodiscard]] std::optional<Timestamp> end_of(const JobKey& job, Timestamp now) const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable Mutex mutex_;
  std::map<JobKey, Timestamp> ends_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::runtime
