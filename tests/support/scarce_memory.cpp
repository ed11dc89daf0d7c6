#include "tests/support/scarce_memory.h"

#include <cstdlib>
#include <new>

namespace ratoon::test {

ScarceMemory scarce_memory;

namespace {

bool is_out() {
  ScarceMemory& memory = scarce_memory;
  if (memory.failing.load(std::memory_order_relaxed) <= 0) return false;
  if (ScarceMemory::is_spared && !memory.is_everywhere.load(std::memory_order_relaxed)) return false;
  return memory.left.fetch_sub(1) <= 0 && memory.failing.fetch_sub(1) > 0;
}

}  // namespace
}  // namespace ratoon::test

void* operator new(std::size_t bytes) {
  void* const memory = ratoon::test::is_out() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Without a sanitizer, this operator would call the one above; a sanitizer has its own.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return ratoon::test::is_out() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
