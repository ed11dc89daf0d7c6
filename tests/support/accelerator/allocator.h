// Device memory of the test accelerator. A block ends at a page that no access survives. A block that was
// freed becomes such pages as a whole, when the work has ended that these streams had when it was freed: the
// stream on which it was allocated, and those of note_use_on(). Fresh memory holds NaN.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include "tests/support/accelerator/stream.h"

namespace ratoon::test::accelerator {

[[nodiscard]] c10::DeviceAllocator& allocator();

// The memory of `data` is used on `stream` too, as Tensor::record_stream() says.
void note_use_on(const c10::DataPtr& data, Stream& stream);

// The device whose memory `address` lies in; throws where it is none's.
[[nodiscard]] c10::DeviceIndex device_of(const void* address);

}  // namespace ratoon::test::accelerator
