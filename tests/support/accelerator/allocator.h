// Device memory of the test accelerator. A block ends at a page that may not be accessed. A freed block
// becomes such pages as a whole, when its streams have ended the work that they had when it was freed: the
// stream on which it was allocated, and the streams of note_use_on(). Fresh memory holds NaN.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include "tests/support/accelerator/stream.h"

namespace ratoon::test::accelerator {

[[nodiscard]] c10::DeviceAllocator& allocator();

// The memory of `data` is used on `stream` too, as Tensor::record_stream() says.
void note_use_on(const c10::DataPtr& data, Stream& stream);

// The device whose memory contains `address`; throws if no device's memory contains it.
[[nodiscard]] c10::DeviceIndex device_of(const void* address);

}  // namespace ratoon::test::accelerator
