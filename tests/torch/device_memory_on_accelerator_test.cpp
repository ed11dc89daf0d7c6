// A DeviceMemory on the test accelerator, whose kernels and copies run late on streams of their own.
#include <cstring>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <ratoon/session/device_memory.h>

#include "tests/support/accelerator/lag.h"
#include "tests/support/accelerator/launch.h"
#include "tests/support/saved_objects.h"

namespace ratoon::device_memory_on_accelerator_test {
namespace {

namespace accelerator = test::accelerator;

const at::Device kDevice{c10::kPrivateUse1, 0};
constexpr std::int64_t kNumbers = 1000;

// As cudaMemcpy() does it: after the queued work of the stream, and complete when the function returns.
void copy_and_wait(void* to, const void* from, std::size_t bytes) {
  accelerator::queue_host_copy(0, [=] { std::memcpy(to, from, bytes); });
  accelerator::drain(0, "copy of a program");
}

DeviceMemory memory_of(const at::Tensor& tensor) {
  return DeviceMemory({.pointer = tensor.data_ptr(),
                       .type = ElementType::kFloat32,
                       .shape = {static_cast<std::uint64_t>(tensor.numel())},
                       .copy_to_host = copy_and_wait,
                       .copy_from_host = copy_and_wait});
}

TEST(DeviceMemoryOnAccelerator, HasTheResultsOfQueuedKernelsAfterASaveAndARestore) {
  const auto options = at::TensorOptions(kDevice).dtype(at::kFloat);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    accelerator::set_lag(seed);
    test::SavedObjects saved;
    at::Tensor weights = at::full({kNumbers}, 1.0F, options);
    auto memory = memory_of(weights);
    weights.mul_(3);
    const auto point = saved.save("weights", memory);
    weights.mul_(5);  // queued after the save's copy

    at::Tensor other = at::zeros({kNumbers}, options);
    auto restored = memory_of(other);
    saved.load(point, "weights", restored);
    other.add_(1);
    EXPECT_TRUE(other.cpu().equal(at::full({kNumbers}, 4.0F))) << "lags of seed " << seed;
  }
}

}  // namespace
}  // namespace ratoon::device_memory_on_accelerator_test
