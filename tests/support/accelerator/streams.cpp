#include "tests/support/accelerator/streams.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <c10/util/Exception.h>

namespace ratoon::test::accelerator {
namespace {

constexpr std::size_t kMostDevices = 8;
constexpr std::size_t kPoolSize = 8;

struct DeviceStreams {
  std::vector<Stream*> all;  // a stream's place is its id; none is ever destroyed
  std::array<std::vector<std::size_t>, 2> pools;
  std::array<std::size_t, 2> next_of_pool = {};
};

struct Registry {
  std::mutex mutex;
  std::array<DeviceStreams, kMostDevices> devices;
};

Registry& registry() {
  static auto* const kept = std::make_unique<Registry>().release();
  return *kept;
}

DeviceStreams& streams_of(c10::DeviceIndex device) {
  TORCH_CHECK(device >= 0 && device < number_of_devices(), "the test accelerator has ",
              static_cast<int>(number_of_devices()), " devices, and device ", static_cast<int>(device),
              " was asked for");
  return registry().devices.at(static_cast<std::size_t>(device));
}

std::size_t add_stream(DeviceStreams& streams, c10::DeviceIndex device) {
  const std::size_t id = streams.all.size();
  streams.all.push_back(std::make_unique<Stream>(device, static_cast<std::int64_t>(id)).release());
  return id;
}

c10::Stream stream_with_id(c10::DeviceIndex device, std::size_t id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, device),
                     static_cast<c10::StreamId>(id));
}

struct OfThread {
  c10::DeviceIndex device = 0;
  std::array<c10::StreamId, kMostDevices> streams = {};
};

OfThread& of_thread() {
  thread_local OfThread current;
  return current;
}

}  // namespace

c10::DeviceIndex number_of_devices() {
  static const auto number = [] {
    const char* text = std::getenv("RATOON_TEST_ACCELERATOR_DEVICES");
    return static_cast<c10::DeviceIndex>(
        text == nullptr ? 2 : std::clamp(std::atoi(text), 0, static_cast<int>(kMostDevices)));
  }();
  return number;
}

c10::DeviceIndex current_device() {
  return of_thread().device;
}

void set_current_device(c10::DeviceIndex device) {
  if (device >= 0) of_thread().device = device;
}

c10::Stream default_stream(c10::DeviceIndex device) {
  return stream_with_id(device < 0 ? current_device() : device, 0);
}

c10::Stream new_stream(c10::DeviceIndex device) {
  const std::lock_guard lock(registry().mutex);
  DeviceStreams& streams = streams_of(device);
  if (streams.all.empty()) add_stream(streams, device);  // the default stream has id 0
  return stream_with_id(device, add_stream(streams, device));
}

c10::Stream pool_stream(c10::DeviceIndex device, bool is_urgent) {
  const std::lock_guard lock(registry().mutex);
  DeviceStreams& streams = streams_of(device);
  if (streams.all.empty()) add_stream(streams, device);
  auto& pool = streams.pools.at(is_urgent ? 1 : 0);
  auto& next = streams.next_of_pool.at(is_urgent ? 1 : 0);
  if (pool.size() < kPoolSize) pool.push_back(add_stream(streams, device));
  return stream_with_id(device, pool.at(next++ % kPoolSize));
}

c10::Stream current_stream(c10::DeviceIndex device) {
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  const auto id = of_thread().streams.at(static_cast<std::size_t>(index));
  return stream_with_id(index, static_cast<std::size_t>(id));
}

c10::Stream exchange_stream(const c10::Stream& stream) {
  const c10::Stream before = current_stream(stream.device_index());
  of_thread().streams.at(static_cast<std::size_t>(stream.device_index())) = stream.id();
  return before;
}

Stream& queue_of(const c10::Stream& stream) {
  const std::lock_guard lock(registry().mutex);
  DeviceStreams& streams = streams_of(stream.device_index());
  if (streams.all.empty()) add_stream(streams, stream.device_index());
  return *streams.all.at(static_cast<std::size_t>(stream.id()));
}

std::vector<Stream*> queues_of(c10::DeviceIndex device) {
  const std::lock_guard lock(registry().mutex);
  return streams_of(device).all;
}

}  // namespace ratoon::test::accelerator
