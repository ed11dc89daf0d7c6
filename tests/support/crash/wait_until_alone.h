// For disks that threads share which nobody joins: those that a test left behind in a call that hung.
#pragma once

#include <memory>
#include <thread>

namespace ratoon::test {

// Until nobody else holds it, and what they did with it has been done before this returns.
template <class T>
void wait_until_alone(const std::shared_ptr<T>& held) {
  while (held.use_count() > 1) std::this_thread::yield();
  // InventoryPolling at the count orders nothing; counting does.
  std::shared_ptr<T>(held).reset();
}

}  // namespace ratoon::test
