// The streams of the devices, and the streams that a thread uses.
#pragma once

#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include "tests/support/accelerator/stream.h"

namespace ratoon::test::accelerator {

// The number of devices: 2, or RATOON_TEST_ACCELERATOR_DEVICES, at most 8.
[[nodiscard]] c10::DeviceIndex number_of_devices();

// The current device of this thread.
[[nodiscard]] c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex device);

[[nodiscard]] c10::Stream default_stream(c10::DeviceIndex device);
[[nodiscard]] c10::Stream new_stream(c10::DeviceIndex device);
// Returns one of eight streams of this priority, each in turn. The streams are made when they are first
// requested.
[[nodiscard]] c10::Stream pool_stream(c10::DeviceIndex device, bool is_urgent);

// The current stream of this thread on `device`; the default stream at first.
[[nodiscard]] c10::Stream current_stream(c10::DeviceIndex device);
c10::Stream exchange_stream(const c10::Stream& stream);  // returns the one before

[[nodiscard]] Stream& queue_of(const c10::Stream& stream);
[[nodiscard]] std::vector<Stream*> queues_of(c10::DeviceIndex device);

}  // namespace ratoon::test::accelerator
