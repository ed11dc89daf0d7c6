#include "agent/src/checkpoint/disk/calls_with_timeout.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace ratoon::checkpoint::calls_with_timeout_test {
namespace {

// An object that takes long to be released, as a lock of a file on a busy machine does.
struct Held {
  std::atomic<bool>* is_held;
  explicit Held(std::atomic<bool>& is_it) : is_held(&is_it) { is_it = true; }
  Held(const Held&) = delete;
  ~Held() {
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    *is_held = false;
  }
};

// The next process that locked the folder mistook the lock of a running call for another process's.
TEST(CallsWithTimeout, WhatACallHeldIsLetGoOfWhenItsResultIsThere) {
  CallsWithTimeout calls(std::chrono::hours(1), std::make_shared<ManualClock>());
  std::atomic<bool> is_held = false;
  for (int i = 0; i < 1000; ++i) {
    auto look = [held = std::make_shared<Held>(is_held)]() -> Result<bool> { return held->is_held->load(); };
    EXPECT_TRUE(calls("looking", std::move(look)).value());
    ASSERT_FALSE(is_held) << "after " << i << " calls";
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::calls_with_timeout_test
