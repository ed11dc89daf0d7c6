// Condition variables for Mutex (base/core/threads/mutex.h, which has an example).
#pragma once

#include <condition_variable>
#include <utility>

#include "base/core/threads/mutex.h"

namespace ratoon {

// wait(), wait_for() and wait_until() take a MutexLock and then what those of the standard class take.
template <class Standard>
class BasicConditionVariable {
 public:
  template <class... Words>
  auto wait(MutexLock& lock, Words&&... words) {
    return standard_.wait(lock.lock_, std::forward<Words>(words)...);
  }
  template <class... Words>
  auto wait_for(MutexLock& lock, Words&&... words) {
    return standard_.wait_for(lock.lock_, std::forward<Words>(words)...);
  }
  template <class... Words>
  auto wait_until(MutexLock& lock, Words&&... words) {
    return standard_.wait_until(lock.lock_, std::forward<Words>(words)...);
  }
  void notify_one() noexcept { standard_.notify_one(); }
  void notify_all() noexcept { standard_.notify_all(); }

 private:
  Standard standard_;
};

using ConditionVariable = BasicConditionVariable<std::condition_variable>;
// Its waits also take a std::stop_token, and a stop request ends them.
using StoppableConditionVariable = BasicConditionVariable<std::condition_variable_any>;

}  // namespace ratoon
