// ToDevice on the test accelerator.
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/torch/batch_tensor.h>

#include "tests/support/accelerator/counts.h"

namespace ratoon::to_device_on_accelerator_test {
namespace {

// If another device were current after a call, CUDA would have created a context on that device.
TEST(ToDeviceOnAccelerator, MakesNoDeviceCurrentExceptItsOwn) {
  Stream stream({.samples = 4, .global_batch = 4, .order = SampleOrder::kInOrder});
  DataLoader loader(MemoryDataset::of({MemoryColumn("x", std::vector<float>{0, 1, 2, 3})}), stream, {});
  const Batch batch = loader.next();
  test::accelerator::reset_counts();
  {
    const torch::ToDevice to_device(at::Device(c10::kPrivateUse1, 1));
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(at::equal(to_device(batch, "x").cpu(), at::arange(4, at::kFloat)));
  }
  EXPECT_EQ(test::accelerator::counts().event_calls_from_other_devices, 0u);
}

}  // namespace
}  // namespace ratoon::to_device_on_accelerator_test
