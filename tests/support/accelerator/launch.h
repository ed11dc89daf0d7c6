// The way in which operators of the test accelerator reach its streams.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace ratoon::test::accelerator {

// Queues a kernel on the current stream of `device`. The kernel must hold no device tensor: as on a GPU,
// freed memory is gone, unless the streams that use it were noted.
void launch(c10::DeviceIndex device, std::function<void()> kernel);

// Does the same for a copy between host and device, which is counted as a copy.
void queue_host_copy(c10::DeviceIndex device, std::function<void()> copy);

// Waits until the current stream of `device` is idle, without counting it.
void drain(c10::DeviceIndex device, const char* call);

// Returns a CPU tensor over the same memory, which it does not keep alive. For a tensor on the host, returns
// the tensor itself.
[[nodiscard]] at::Tensor on_host(const at::Tensor& tensor);

// While an object of this class exists, copies of this thread are made at once and not counted: an operator
// falls back to the CPU.
class FallbackScope {
 public:
  FallbackScope();
  FallbackScope(const FallbackScope&) = delete;
  FallbackScope& operator=(const FallbackScope&) = delete;
  ~FallbackScope();
  [[nodiscard]] static bool is_open();
};

}  // namespace ratoon::test::accelerator
