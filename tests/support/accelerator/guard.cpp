// The device for LibTorch's guards, streams and events. Calls that only name devices and streams work on a
// broken device, as they do for CUDA: destructors of guards make them.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tests/support/accelerator/allocator.h"
#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/event.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

void check_has_not_vanished(const char* call) {
  if (has_vanished()) check_is_alive(call);
}

void note_event_call(c10::DeviceIndex device) {
  if (device >= 0 && device != current_device()) count_event_call_from_other_device();
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  [[nodiscard]] c10::DeviceType type() const override { return c10::kPrivateUse1; }

  [[nodiscard]] c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }

  [[nodiscard]] c10::Device getDevice() const override {
    check_has_not_vanished("say its current device");
    return {c10::kPrivateUse1, current_device()};
  }

  void setDevice(c10::Device device) const override {
    check_has_not_vanished("change its current device");
    TORCH_CHECK(device.index() < number_of_devices(), "the test accelerator has ",
                static_cast<int>(number_of_devices()), " devices, and was asked for ", device);
    set_current_device(device.index());
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override { set_current_device(device.index()); }

  [[nodiscard]] c10::Stream getStream(c10::Device device) const override {
    return current_stream(device.index());
  }

  [[nodiscard]] c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(device.index());
  }

  [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device device, bool is_urgent) const override {
    check_has_not_vanished("take a stream from its pool");
    return pool_stream(device.index() < 0 ? current_device() : device.index(), is_urgent);
  }

  [[nodiscard]] c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    check_is_alive("make a stream");
    return new_stream(device.index() < 0 ? current_device() : device.index());
  }

  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }

  void* getStreamNativeHandle(const c10::Stream stream) const override { return &queue_of(stream); }

  void destroyEvent(void* event, c10::DeviceIndex device) const noexcept override {
    if (event != nullptr) note_event_call(device);
    const std::unique_ptr<Event> gone(static_cast<Event*>(event));
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    check_is_alive("record an event");
    note_event_call(stream.device_index());
    if (*event == nullptr) *event = std::make_unique<Event>().release();
    static_cast<Event*>(*event)->record(queue_of(stream));
  }

  void block(void* event, const c10::Stream& stream) const override {
    if (event == nullptr) return;
    check_is_alive("let a stream wait for an event");
    note_event_call(stream.device_index());
    static_cast<const Event*>(event)->block(queue_of(stream));
  }

  [[nodiscard]] bool queryEvent(void* event) const override {
    if (event == nullptr) return true;
    check_is_alive("query an event");
    return static_cast<const Event*>(event)->query();
  }

  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override {
    return has_vanished() ? c10::DeviceIndex{0} : number_of_devices();
  }

  [[nodiscard]] c10::DeviceCapability getDeviceCapability(c10::Device /*device*/) const override {
    check_has_not_vanished("say its capabilities");
    return {};
  }

  [[nodiscard]] bool queryStream(const c10::Stream& stream) const override {
    check_is_alive("query a stream");
    return queue_of(stream).is_idle();
  }

  void synchronizeStream(const c10::Stream& stream) const override {
    check_is_alive("synchronize a stream");
    count_host_synchronization();
    mark_end(queue_of(stream))->wait_while_alive("synchronize a stream");
  }

  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    check_is_alive("synchronize an event");
    count_event_synchronization();
    static_cast<const Event*>(event)->synchronize();
  }

  void synchronizeDevice(c10::DeviceIndex device) const override {
    check_is_alive("synchronize the device");
    count_host_synchronization();
    for (Stream* stream : queues_of(device < 0 ? current_device() : device))
      mark_end(*stream)->wait_while_alive("synchronize the device");
  }

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    note_use_on(data, queue_of(stream));
  }

  [[nodiscard]] double elapsedTime(void* from, void* to, c10::DeviceIndex /*device*/) const override {
    check_is_alive("say the time between two events");
    TORCH_CHECK(from != nullptr && to != nullptr, "an elapsed time was asked for of an event without record");
    return static_cast<const Event*>(from)->milliseconds_until(*static_cast<const Event*>(to));
  }
};

const c10::impl::DeviceGuardImplRegistrar registrar(c10::kPrivateUse1, std::make_unique<Guard>().release());

}  // namespace
}  // namespace ratoon::test::accelerator
