// The test accelerator itself: a missing wait becomes wrong bits on it, it counts, and it fails on request.
// Other tests cover the product's behaviour with such a device.
#include <functional>
#include <thread>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/lag.h"
#include "tests/support/accelerator/stream.h"

namespace ratoon::accelerator_test {
namespace {

namespace accelerator = test::accelerator;
using c10::impl::VirtualGuardImpl;

constexpr std::int32_t kEccError = 214;  // cudaErrorECCUncorrectable

at::Device device(c10::DeviceIndex index = 0) {
  return {c10::kPrivateUse1, index};
}

VirtualGuardImpl guard() {
  return VirtualGuardImpl(c10::kPrivateUse1);
}

c10::Stream current_stream() {
  return guard().getStream(device());
}

// The content of a CPU copy of one-element `tensor`.
float number_in(const at::Tensor& tensor) {
  return tensor.cpu().item<float>();
}

void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

class AcceleratorTest : public testing::Test {
 protected:
  void TearDown() override {
    accelerator::heal();
    guard().synchronizeDevice(0);
    accelerator::set_lag(1);
    accelerator::reset_counts();
  }
};

using AcceleratorDeathTest = AcceleratorTest;

at::Tensor ones(std::int64_t size) {
  auto tensor = ::torch::ones({size}, device());
  guard().synchronizeDevice(0);
  return tensor;
}

// x becomes 2 on the current stream, and another stream copies x.
float copied_on_another_stream(bool waits) {
  const at::Tensor x = ones(1);
  const at::Tensor y = ones(1);
  const c10::Stream side = guard().getNewStream(device());
  for (int i = 0; i < 4; ++i) x.fill_(2);
  c10::Event is_filled(c10::kPrivateUse1);
  is_filled.record(current_stream());
  if (waits) is_filled.block(side);
  {
    const c10::StreamGuard on_side(side);
    y.copy_(x);
  }
  guard().synchronizeDevice(0);
  return number_in(y);
}

TEST_F(AcceleratorTest, ReadWithoutWaitIsWrongForSomeSeed) {
  constexpr std::uint64_t kMostSeeds = 10000;
  std::uint64_t seed = 1;
  float copied = 2;
  for (; copied == 2 && seed < kMostSeeds; ++seed) {
    accelerator::set_lag(seed);
    copied = copied_on_another_stream(false);
  }
  EXPECT_EQ(copied, 1) << seed;
}

TEST_F(AcceleratorTest, ReadAfterWaitIsRightForEachSeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    accelerator::set_lag(seed);
    EXPECT_EQ(copied_on_another_stream(true), 2) << seed;
  }
}

TEST_F(AcceleratorTest, StreamGoesOnBesideOneThatHangs) {
  const at::Tensor x = ones(1);
  const at::Tensor y = ones(1);
  accelerator::hang_next_kernel();
  x.fill_(2);
  c10::Event is_filled(c10::kPrivateUse1);
  is_filled.record(current_stream());
  wait_until([] { return accelerator::hanging_kernels() == 1; });
  EXPECT_FALSE(is_filled.query());
  EXPECT_FALSE(current_stream().query());

  const c10::Stream side = guard().getNewStream(device());
  {
    const c10::StreamGuard on_side(side);
    EXPECT_EQ(number_in(y.add(x)), 2);  // 1 + 1: x is read before the kernel that hangs
    is_filled.block(side);
    y.copy_(x);
    const c10::StreamGuard on_third(guard().getNewStream(device()));
    for (int i = 0; i < 20; ++i) (void)number_in(at::zeros({1}, device()));  // time in which no copy may run
    EXPECT_FALSE(side.query());
    accelerator::end_hangs();
    side.synchronize();
    EXPECT_EQ(number_in(y), 2);
  }
  EXPECT_TRUE(is_filled.query());
}

TEST_F(AcceleratorTest, NativeHandleIsItsQueue) {
  const c10::Stream side = guard().getStreamFromGlobalPool(device(), true);
  auto* const queue = static_cast<accelerator::Stream*>(side.native_handle());
  int done = 0;
  queue->enqueue([&] { done = 1; });
  side.synchronize();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(queue->device(), 0);
}

TEST_F(AcceleratorTest, HostCopyReadsHostMemoryWhenItRuns) {
  const at::Tensor x = ones(1);
  at::Tensor on_host = ::torch::full({1}, 2.0);
  accelerator::hang_next_kernel();
  x.copy_(on_host, true);
  on_host.fill_(3);  // too early
  accelerator::end_hangs();
  EXPECT_EQ(number_in(x), 3);
}

TEST_F(AcceleratorTest, DevicesCopyInOrder) {
  const at::Tensor x = ones(3);
  accelerator::hang_next_kernel();
  x.fill_(5);
  const at::Tensor y = x.to(device(1));
  EXPECT_EQ(y.device(), device(1));
  accelerator::end_hangs();
  EXPECT_TRUE(::torch::equal(y.cpu(), ::torch::full({3}, 5.0)));
  EXPECT_THROW((void)(x + y), c10::Error);
}

TEST_F(AcceleratorTest, CountsWhatCosts) {
  const at::Tensor x = ones(8);
  const at::Tensor slice = x.narrow(0, 2, 4);
  accelerator::reset_counts();
  slice.mul_(3).add_(x.view({2, 4}).select(0, 0), 2);
  c10::Event end(c10::kPrivateUse1);
  end.record(current_stream());
  auto counts = accelerator::counts();
  EXPECT_EQ(counts.kernels, 2u);
  EXPECT_EQ(counts.allocations, 0u);
  EXPECT_EQ(counts.host_synchronizations, 0u);

  end.synchronize();
  counts = accelerator::counts();
  EXPECT_EQ(counts.host_synchronizations, 1u);
  EXPECT_EQ(counts.event_synchronizations, 1u);

  const at::Tensor y = x + x;
  EXPECT_EQ(accelerator::counts().allocations, 1u);
  const at::Tensor on_host = ::torch::empty({8});
  on_host.copy_(y, true);
  counts = accelerator::counts();
  EXPECT_EQ(counts.host_copies, 1u);
  EXPECT_EQ(counts.host_synchronizations, 1u);
  on_host.copy_(y);
  EXPECT_EQ(accelerator::counts().host_synchronizations, 2u);
  EXPECT_EQ(y[0].item<float>(), 2);
  EXPECT_EQ(accelerator::counts().host_synchronizations, 3u);

  EXPECT_EQ(accelerator::counts().fallbacks, 0u);
  EXPECT_EQ(number_in(x.cumsum(0)[1]), 2);
  EXPECT_EQ(accelerator::counts().fallbacks, 1u);
  EXPECT_EQ(accelerator::fallback_names(), std::vector<std::string>{"aten::cumsum.out"});
}

TEST_F(AcceleratorTest, MemoryIsFreshAndCounted) {
  auto& allocator = *at::getDeviceAllocator(c10::kPrivateUse1);
  const auto before = allocator.getDeviceStats(0).allocated_bytes[0].current;
  {
    const at::Tensor x = ::torch::empty({5}, device());
    EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].current, before + 20);
    EXPECT_TRUE(x.cpu().isnan().all().item<bool>());
  }
  EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].current, before);
}

TEST_F(AcceleratorTest, RecordedStreamKeepsFreedMemory) {
  const at::Tensor y = ones(1000);
  const c10::Stream side = guard().getNewStream(device());
  {
    at::Tensor x = ones(1000);
    accelerator::hang_next_kernel();
    const c10::StreamGuard on_side(side);
    y.copy_(x);
    x.record_stream(side);
  }
  guard().synchronizeStream(current_stream());
  accelerator::end_hangs();
  guard().synchronizeDevice(0);
  EXPECT_TRUE(::torch::equal(y.cpu(), ::torch::ones({1000})));
}

TEST_F(AcceleratorDeathTest, UseOfFreedMemoryOnAnotherStreamDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_after_free = [] {
    const at::Tensor y = ones(1000);
    const c10::Stream side = guard().getNewStream(device());
    {
      const at::Tensor x = ones(1000);
      accelerator::hang_next_kernel();
      const c10::StreamGuard on_side(side);
      y.copy_(x);
    }
    guard().synchronizeStream(current_stream());
    accelerator::end_hangs();
    guard().synchronizeDevice(0);
  };
  EXPECT_DEATH(use_after_free(), "");
}

TEST_F(AcceleratorDeathTest, WriteBehindABlockDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const at::Tensor x = ones(16);
  EXPECT_DEATH(x.data_ptr<float>()[16] = 1, "");
}

struct Net : ::torch::nn::Module {
  Net() {
    first = register_module("first", ::torch::nn::Linear(12, 16));
    second = register_module("second", ::torch::nn::Linear(16, 4));
  }
  at::Tensor forward(const at::Tensor& x) {
    return ::torch::log_softmax(second->forward(::torch::relu(first->forward(x))), 1);
  }
  ::torch::nn::Linear first{nullptr};
  ::torch::nn::Linear second{nullptr};
};

std::vector<at::Tensor> trained_on(at::Device where, bool with_adam) {
  ::torch::manual_seed(7);
  auto net = std::make_shared<Net>();
  const at::Tensor x = ::torch::randn({32, 12});
  const at::Tensor labels = ::torch::randint(4, {32}, ::torch::kLong);
  net->to(where);
  std::unique_ptr<::torch::optim::Optimizer> optimizer;
  if (with_adam) {
    optimizer = std::make_unique<::torch::optim::AdamW>(net->parameters(), 0.01);
  } else {
    optimizer = std::make_unique<::torch::optim::SGD>(net->parameters(),
                                                      ::torch::optim::SGDOptions(0.1).momentum(0.9));
  }
  for (int step = 0; step < 10; ++step) {
    optimizer->zero_grad();
    ::torch::nll_loss(net->forward(x.to(where)), labels.to(where)).backward();
    optimizer->step();
  }
  std::vector<at::Tensor> weights;
  for (const at::Tensor& weight : net->parameters()) weights.push_back(weight.detach().cpu());
  return weights;
}

TEST_F(AcceleratorTest, TrainingEndsWithTheBitsOfTheCpu) {
  for (const bool with_adam : {false, true}) {
    const auto expected = trained_on(at::kCPU, with_adam);
    const auto trained = trained_on(device(), with_adam);
    ASSERT_EQ(trained.size(), 4u);
    for (std::size_t i = 0; i < trained.size(); ++i)
      EXPECT_TRUE(::torch::equal(trained[i], expected[i])) << with_adam << " " << i;
    EXPECT_FALSE(::torch::equal(expected[0], trained_on(at::kCPU, !with_adam)[0]));
  }
}

TEST_F(AcceleratorTest, UnscalesForMixedPrecision) {
  const at::Tensor gradient = ones(3);
  at::Tensor found_inf = ::torch::zeros({1}, device());
  const at::Tensor inverse = ::torch::full({1}, 0.5, device());
  at::_amp_foreach_non_finite_check_and_unscale_({gradient}, found_inf, inverse);
  EXPECT_EQ(number_in(gradient[2]), 0.5);
  EXPECT_EQ(number_in(found_inf), 0);
  EXPECT_EQ(accelerator::counts().fallbacks, 0u);
}

std::int32_t code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::AcceleratorError& error) {
    return error.get_error_code();
  }
  return 0;
}

TEST_F(AcceleratorTest, StickyErrorStays) {
  const at::Tensor x = ones(1);
  c10::Event mark(c10::kPrivateUse1);
  mark.record(current_stream());
  accelerator::break_device(kEccError, "an uncorrectable ECC error");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code_of([&] { x.fill_(2); }), kEccError);
    EXPECT_EQ(code_of([&] { (void)mark.query(); }), kEccError);
    EXPECT_EQ(code_of([&] { mark.record(current_stream()); }), kEccError);
    EXPECT_EQ(code_of([&] { mark.synchronize(); }), kEccError);
    EXPECT_EQ(code_of([&] { current_stream().synchronize(); }), kEccError);
    EXPECT_EQ(code_of([&] { (void)x.cpu(); }), kEccError);
    EXPECT_EQ(code_of([&] { (void)::torch::empty({1}, device()); }), kEccError);
  }
  EXPECT_EQ(guard().deviceCount(), 2);
  const c10::StreamGuard destructors_do_not_throw(guard().getDefaultStream(device()));
}

TEST_F(AcceleratorTest, ErrorEndsAWaitForAKernelThatHangs) {
  const at::Tensor x = ones(1);
  accelerator::hang_next_kernel();
  x.fill_(2);
  std::thread breaks([] {
    wait_until([] { return accelerator::hanging_kernels() == 1; });
    accelerator::break_device(kEccError, "an uncorrectable ECC error");
  });
  EXPECT_EQ(code_of([] { current_stream().synchronize(); }), kEccError);
  breaks.join();
  accelerator::end_hangs();
  wait_until([] { return accelerator::hanging_kernels() == 0; });
}

TEST_F(AcceleratorTest, KernelThatFailsBreaksTheDevice) {
  const at::Tensor x = ones(1);
  const at::Tensor wrong = ::torch::ones({1}, at::TensorOptions(device()).dtype(at::kLong));
  at::Tensor found_inf = ::torch::zeros({1}, device());
  at::_amp_foreach_non_finite_check_and_unscale_({wrong}, found_inf, x);  // integers are refused
  EXPECT_EQ(code_of([] { current_stream().synchronize(); }), 719);
}

TEST_F(AcceleratorTest, AllocationFailsOnce) {
  accelerator::fail_allocation(2);
  const at::Tensor first = ::torch::empty({1}, device());
  EXPECT_THROW((void)::torch::empty({1}, device()), c10::OutOfMemoryError);
  const at::Tensor third = ::torch::empty({1}, device());
}

TEST_F(AcceleratorTest, VanishedDeviceAnswersNoQuestion) {
  c10::Event mark(c10::kPrivateUse1);
  mark.record(current_stream());
  accelerator::vanish();
  EXPECT_EQ(guard().deviceCount(), 0);
  EXPECT_NE(code_of([] { (void)guard().getDevice(); }), 0);
  EXPECT_NE(code_of([] { guard().setDevice(device()); }), 0);
  EXPECT_NE(code_of([&] { (void)mark.query(); }), 0);
  EXPECT_NE(code_of([] { (void)current_stream().query(); }), 0);
  accelerator::heal();
  EXPECT_EQ(guard().deviceCount(), 2);
}

}  // namespace
}  // namespace ratoon::accelerator_test
