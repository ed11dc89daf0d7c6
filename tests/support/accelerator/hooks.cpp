// The device for the rest of LibTorch: its name, its generators, its pinned host memory.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "tests/support/accelerator/allocator.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

// Random operators run on the CPU; this generator only holds a seed and a state for programs that save them.
struct DeviceGenerator final : at::CPUGeneratorImpl {
  explicit DeviceGenerator(c10::DeviceIndex device) {
    device_ = c10::Device(c10::kPrivateUse1, device);
    key_set_ = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);
  }
};

struct PinnedMemory {
  std::mutex mutex;
  std::map<const char*, std::size_t> sizes;  // by the first byte
};

PinnedMemory& pinned_memory() {
  static auto* const kept = std::make_unique<PinnedMemory>().release();
  return *kept;
}

void free_pinned(void* data) {
  const std::lock_guard lock(pinned_memory().mutex);
  pinned_memory().sizes.erase(static_cast<const char*>(data));
  std::free(data);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) override {
    check_is_alive("pin host memory");
    if (size == 0) return {nullptr, c10::Device(c10::kCPU)};
    constexpr std::size_t kPinnedAlignment = 64;
    void* const data = std::aligned_alloc(
        kPinnedAlignment, (size + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment);
    if (data == nullptr) throw std::bad_alloc();
    const std::lock_guard lock(pinned_memory().mutex);
    pinned_memory().sizes[static_cast<const char*>(data)] = size;
    return {data, data, &free_pinned, c10::Device(c10::kCPU)};
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }
};

bool is_pinned(const void* address) {
  const std::lock_guard lock(pinned_memory().mutex);
  const auto* const byte = static_cast<const char*>(address);
  auto after = pinned_memory().sizes.upper_bound(byte);
  if (after == pinned_memory().sizes.begin()) return false;
  --after;
  return byte < after->first + after->second;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  [[nodiscard]] bool isBuilt() const override { return true; }
  [[nodiscard]] bool isAvailable() const override { return !has_vanished() && number_of_devices() > 0; }
  [[nodiscard]] bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }

  [[nodiscard]] c10::DeviceIndex deviceCount() const override {
    return has_vanished() ? c10::DeviceIndex{0} : number_of_devices();
  }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(device); }
  [[nodiscard]] c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  [[nodiscard]] c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex before = current_device();
    set_current_device(device);
    return before;
  }
  [[nodiscard]] c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }

  [[nodiscard]] bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  [[nodiscard]] c10::Allocator* getPinnedMemoryAllocator() const override {
    static auto* const kept = std::make_unique<PinnedAllocator>().release();
    return kept;
  }
  [[nodiscard]] c10::Device getDeviceFromPtr(void* data) const override {
    return {c10::kPrivateUse1, device_of(data)};
  }

  [[nodiscard]] const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    static const auto* const kept = [] {
      auto* const all = std::make_unique<std::vector<at::Generator>>().release();
      for (c10::DeviceIndex i = 0; i < number_of_devices(); ++i)
        all->push_back(at::make_generator<DeviceGenerator>(i));
      return all;
    }();
    return kept->at(static_cast<std::size_t>(device < 0 ? current_device() : device));
  }
  [[nodiscard]] at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<DeviceGenerator>(device < 0 ? current_device() : device);
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t size) const override;
};

void Hooks::resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t size) const {
  const std::size_t kept = std::min(size, storage.nbytes());
  c10::DataPtr data = allocator().allocate(size);
  if (kept > 0) allocator().copy_data(data.get(), storage.data(), kept);
  storage.set_data_ptr_noswap(std::move(data));
  storage.set_nbytes(size);
}

const bool is_registered = [] {
  c10::register_privateuse1_backend("accelerator");
  c10::SetAllocator(c10::kPrivateUse1, &allocator());
  at::RegisterPrivateUse1HooksInterface(std::make_unique<Hooks>().release());
  return true;
}();

}  // namespace
}  // namespace ratoon::test::accelerator
