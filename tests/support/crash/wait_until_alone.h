// For disks that threads share which no test joins: threads that a test left behind in a call that hung.
#pragma once

#include <memory>
#include <thread>

namespace ratoon::test {

// Waits until no other thread holds the disk; all effects of those threads are visible when this function
// returns.
template <class T>
void wait_until_alone(const std::shared_ptr<T>& held) {
  while (held.use_count() > 1) std::this_thread::yield();
  // Reading use_count() orders nothing; the decrement of the count does.
  std::shared_ptr<T>(held).reset();
}

}  // namespace ratoon::test
