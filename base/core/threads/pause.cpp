#include "base/core/threads/pause.h"

#include "base/core/threads/condition_variable.h"

namespace ratoon {

bool pause_for(Duration time, const std::stop_token& stop) {
  Mutex mutex;
  StoppableConditionVariable never;
  MutexLock lock(mutex);
  never.wait_for(lock, stop, limit_to_one_year(time), [] { return false; });
  return !stop.stop_requested();
}

}  // namespace ratoon
