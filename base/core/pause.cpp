#include "base/core/pause.h"

#include <condition_variable>
#include <mutex>

namespace ratoon {

bool pause_for(Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, limit_to_one_year(time), [] { return false; });
  return !stop.stop_requested();
}

}  // namespace ratoon
