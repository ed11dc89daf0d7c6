// Allocations that fail when a test requests it. A program that links scarce_memory.cpp has its operator new.
#pragma once

#include <atomic>

namespace ratoon::test {

struct ScarceMemory {
  std::atomic<long> left{0};     // allocations until they fail
  std::atomic<long> failing{0};  // how many fail then
  // Threads that are marked are spared unless `is_everywhere`.
  static inline thread_local bool is_spared = false;
  std::atomic<bool> is_everywhere{false};
};

extern ScarceMemory scarce_memory;

}  // namespace ratoon::test
