#include "tests/support/accelerator/allocator.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

// The alignment equals the alignment of CPU tensors: with another one, kernels for matrices may sum in
// another order. An overrun of fewer bytes may stay undetected.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostGuardedBlocks = 4096;  // a process may have 65530 mappings
constexpr int kGarbage = 0xFF;                    // NaN in each floating type

std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

struct Pages {
  void* begin;
  std::size_t size;
};

struct Block {
  Pages pages;
  std::size_t size;
  c10::DeviceIndex device;
  std::set<Stream*> streams;
};

struct Memory {
  std::mutex mutex;
  std::map<const char*, Block> blocks;  // by their first byte
  std::deque<Pages> guarded;
  std::map<c10::DeviceIndex, c10::CachingDeviceAllocator::DeviceStats> stats;
};

// The object is never destroyed: streams free memory until the process ends.
Memory& memory() {
  static auto* const kept = std::make_unique<Memory>().release();
  return *kept;
}

void guard_pages(Pages pages) {
  constexpr int kFlags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  ::mmap(pages.begin, pages.size, PROT_NONE, kFlags, -1, 0);
  const std::lock_guard lock(memory().mutex);
  memory().guarded.push_back(pages);
  if (memory().guarded.size() <= kMostGuardedBlocks) return;
  ::munmap(memory().guarded.front().begin, memory().guarded.front().size);
  memory().guarded.pop_front();
}

void free_block(void* data) {
  Block block;
  {
    const std::lock_guard lock(memory().mutex);
    const auto found = memory().blocks.find(static_cast<const char*>(data));
    if (found == memory().blocks.end()) return;
    block = std::move(found->second);
    memory().blocks.erase(found);
    memory().stats[block.device].allocated_bytes[0].decrease(block.size);
    memory().stats[block.device].allocation[0].decrease(1);
  }
  const auto users = std::make_shared<std::atomic<std::size_t>>(block.streams.size());
  for (Stream* stream : block.streams) {
    stream->enqueue_mark([users, pages = block.pages] {
      if (--*users == 0) guard_pages(pages);
    });
  }
}

[[noreturn]] void refuse(std::size_t size, const char* why) {
  throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__},
                              "the test accelerator has no " + std::to_string(size) + " bytes: " + why);
}

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(std::size_t size) override {
    const c10::Device device(c10::kPrivateUse1, current_device());
    check_is_alive("allocate memory");
    if (size == 0) return {nullptr, device};
    count_allocation();
    if (take_allocation_failure()) refuse(size, "the test asked for this failure");
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = rounded_up(size, kAlignment);
    const Pages pages = {.begin = nullptr, .size = rounded_up(used, page) + page};
    void* const begin =
        ::mmap(nullptr, pages.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) refuse(size, std::strerror(errno));
    char* const end = static_cast<char*>(begin) + pages.size - page;
    ::mprotect(end, page, PROT_NONE);
    char* const data = end - used;
    std::memset(data, kGarbage, used);
    const std::lock_guard lock(memory().mutex);
    memory().blocks[data] = {.pages = {.begin = begin, .size = pages.size},
                             .size = size,
                             .device = device.index(),
                             .streams = {&queue_of(current_stream(device.index()))}};
    memory().stats[device.index()].allocated_bytes[0].increase(size);
    memory().stats[device.index()].allocation[0].increase(1);
    return {data, data, &free_block, device};
  }

  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void* to, const void* from, std::size_t size) const override {
    check_is_alive("copy memory");
    count_kernel();
    queue_of(current_stream(current_device())).enqueue([=] { std::memcpy(to, from, size); });
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override { check_is_alive("give memory back"); }

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    note_use_on(data, queue_of(stream));
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const std::lock_guard lock(memory().mutex);
    return memory().stats[device];
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    const std::lock_guard lock(memory().mutex);
    memory().stats[device].allocated_bytes[0].reset_accumulated();
    memory().stats[device].allocation[0].reset_accumulated();
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    const std::lock_guard lock(memory().mutex);
    memory().stats[device].allocated_bytes[0].reset_peak();
    memory().stats[device].allocation[0].reset_peak();
  }
};

}  // namespace

c10::DeviceAllocator& allocator() {
  static auto* const kept = std::make_unique<Allocator>().release();
  return *kept;
}

void note_use_on(const c10::DataPtr& data, Stream& stream) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().blocks.find(static_cast<const char*>(data.get_context()));
  if (found != memory().blocks.end()) found->second.streams.insert(&stream);
}

c10::DeviceIndex device_of(const void* address) {
  const std::lock_guard lock(memory().mutex);
  const auto* const byte = static_cast<const char*>(address);
  auto after = memory().blocks.upper_bound(byte);
  TORCH_CHECK(after != memory().blocks.begin(), "an address is not in memory of the test accelerator");
  const auto& [begin, block] = *--after;
  TORCH_CHECK(byte < begin + block.size, "an address is not in memory of the test accelerator");
  return block.device;
}

}  // namespace ratoon::test::accelerator
