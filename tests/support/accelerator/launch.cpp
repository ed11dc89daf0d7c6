#include "tests/support/accelerator/launch.h"

#include <exception>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/from_blob.h>

#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/event.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

constexpr std::int32_t kLaunchFailure = 719;  // cudaErrorLaunchFailure

thread_local int open_fallbacks = 0;

void run(const std::function<void()>& kernel) {
  if (!is_alive()) return;
  try {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    kernel();
  } catch (const std::exception& error) {
    break_device(kLaunchFailure, std::string("a kernel failed: ") + error.what());
  }
}

void queue(c10::DeviceIndex device, std::function<void()> kernel) {
  queue_of(current_stream(device)).enqueue([kernel = std::move(kernel), hang = take_hang()] {
    if (hang) hang_until_after(*hang);
    run(kernel);
  });
}

}  // namespace

void launch(c10::DeviceIndex device, std::function<void()> kernel) {
  check_is_alive("queue a kernel");
  count_kernel();
  queue(device, std::move(kernel));
}

void queue_host_copy(c10::DeviceIndex device, std::function<void()> copy) {
  check_is_alive("copy between host and device");
  count_host_copy();
  queue(device, std::move(copy));
}

void drain(c10::DeviceIndex device, const char* call) {
  check_is_alive(call);
  mark_end(queue_of(current_stream(device)))->wait_while_alive(call);
}

at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.is_privateuseone()) return tensor;
  const at::AutoDispatchBelowADInplaceOrView without_autograd;
  void* const data = tensor.numel() == 0 ? nullptr : tensor.data_ptr();
  return at::from_blob(data, tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

FallbackScope::FallbackScope() {
  ++open_fallbacks;
}

FallbackScope::~FallbackScope() {
  --open_fallbacks;
}

bool FallbackScope::is_open() {
  return open_fallbacks > 0;
}

}  // namespace ratoon::test::accelerator
