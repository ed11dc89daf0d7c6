// average_gradients() over the test accelerator, in a world of one that uses the whole path.
#include "agent/src/torch/collectives/averager.h"

#include <functional>
#include <memory>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/nccl/device_collectives.h"
#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/support/accelerator/lag.h"
#include "tests/support/nccl_of_threads.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::averager_test {
namespace {

namespace accelerator = test::accelerator;
using at::Tensor;

const c10::Device kDevice(c10::kPrivateUse1, 0);
const c10::Device kOtherDevice(c10::kPrivateUse1, 1);

const bool is_registered = register_device_collective(c10::kPrivateUse1, make_nccl_collective);

struct Net : ::torch::nn::Module {
  explicit Net(c10::Device device) {
    first = register_parameter("first", at::full({500}, 1.0F, at::TensorOptions(device)));
    second = register_parameter("second", at::full({500}, 1.0F, at::TensorOptions(device)));
  }
  Tensor first, second;
};

class AveragerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(is_registered);
    averages_with_one_rank = true;
  }
  void TearDown() override {
    averages_with_one_rank = false;
    accelerator::set_lag(1);
  }
  // One step of a training.
  int train_a_step(const std::function<void(Session&)>& step) {
    const Options options{
        .save_folder = folder_.path().string(), .run_name = "run", .member = {}, .group = {}};
    return train(options, [&](Session& session) {
      int value = 0;
      session.track("value", value);
      for ([[maybe_unused]] const std::uint64_t number : session.steps(1)) step(session);
    });
  }

 private:
  const test::TemporaryFolder folder_;
};

void give_gradients(Net& net) {
  for (const Tensor& parameter : net.parameters()) parameter.mutable_grad() = at::ones_like(parameter);
}

void expect_ones(const Net& net) {
  for (const Tensor& parameter : net.parameters())
    EXPECT_TRUE(at::equal(parameter.grad().cpu(), at::full({500}, 1.0F)));
}

TEST_F(AveragerTest, AddsUpWhereTheModuleIsAlsoAfterOneThatIsElsewhere) {
  EXPECT_EQ(train_a_step([](Session& session) {
              Net on_cpu(c10::kCPU), on_device(kDevice), on_other(kOtherDevice);
              for (Net* net : {&on_cpu, &on_device, &on_other, &on_device}) {
                give_gradients(*net);
                session.average_gradients(*net, {.samples = 3});
                expect_ones(*net);
                EXPECT_EQ(test::nccl::open_communicators(), net == &on_cpu ? 0 : 1);
              }
            }),
            0);
  EXPECT_EQ(test::nccl::open_communicators(), 0);
}

TEST_F(AveragerTest, KeepsTheBucketsOfSixModulesThatAreTrainedInTurn) {
  EXPECT_EQ(train_a_step([](Session& session) {
              std::vector<std::unique_ptr<Net>> nets;
              for (int i = 0; i < 6; ++i) nets.push_back(std::make_unique<Net>(c10::kCPU));
              std::vector<const void*> buckets;
              for (int round = 0; round < 2; ++round) {
                for (std::size_t i = 0; i < nets.size(); ++i) {
                  give_gradients(*nets[i]);
                  session.average_gradients(*nets[i]);
                  expect_ones(*nets[i]);
                  const void* const bucket = nets[i]->first.grad().const_data_ptr();
                  if (round == 0)
                    buckets.push_back(bucket);
                  else
                    EXPECT_EQ(bucket, buckets[i]) << "a second bucket of module " << i;
                }
              }
            }),
            0);
}

// A program that makes one more tensor trainable from time to time passes another list each time.
TEST_F(AveragerTest, FreesTheBucketsOfAListThatIsPassedNoLonger) {
  EXPECT_EQ(train_a_step([](Session& session) {
              std::vector<Tensor> all;
              for (int i = 0; i < 3; ++i) all.push_back(at::full({10}, 1.0F).requires_grad_());
              c10::weak_intrusive_ptr<c10::StorageImpl> first_bucket(c10::intrusive_ptr<c10::StorageImpl>{});
              for (std::ptrdiff_t stage = 1; stage <= 3; ++stage) {
                const std::vector<Tensor> trained(all.begin(), all.begin() + stage);
                for (int call = 0; call < 70; ++call) {
                  for (const Tensor& tensor : trained) tensor.mutable_grad() = at::ones_like(tensor);
                  session.average_gradients(trained);
                }
                if (stage == 1) first_bucket = trained[0].grad().storage().getWeakStorageImpl();
              }
              EXPECT_TRUE(first_bucket.expired());
            }),
            0);
}

// With return_early, the sums on the first device may still run when the second one is connected.
TEST_F(AveragerTest, AnotherDeviceWaitsForTheSumsThatStillRun) {
  EXPECT_EQ(train_a_step([](Session& session) {
              for (std::uint64_t seed = 1; seed <= 10; ++seed) {
                accelerator::set_lag(seed);
                Net on_device(kDevice), on_other(kOtherDevice);
                for (Net* net : {&on_device, &on_other}) {
                  give_gradients(*net);
                  session.average_gradients(*net, {.samples = 3, .return_early = true});
                }
                expect_ones(on_device);
                expect_ones(on_other);
              }
            }),
            0);
}

// Hooks run on the stream of their gradient, and one piece has gradients of both streams.
TEST_F(AveragerTest, TakesGradientsOfSeveralStreamsWhenTheyAreComplete) {
  const Tensor x = at::arange(500.0).to(at::kFloat).to(kDevice);
  const Tensor expected = at::arange(500.0).to(at::kFloat);
  EXPECT_EQ(train_a_step([&](Session& session) {
              const c10::impl::VirtualGuardImpl guard(c10::kPrivateUse1);
              const c10::Stream side = guard.getNewStream(kDevice);
              for (std::uint64_t seed = 1; seed <= 30; ++seed) {
                accelerator::set_lag(seed);
                Net net(kDevice);
                guard.synchronizeDevice(0);
                const Tensor one = net.first.mul(x);
                Tensor other;
                {
                  const c10::StreamGuard on_side(side);
                  other = net.second.mul(x);
                }
                guard.synchronizeDevice(0);
                session.average_gradients(net, {.samples = 37, .backward = [&] {
                                                  ::torch::autograd::backward(
                                                      {one, other},
                                                      {at::ones_like(one), at::ones_like(other)});
                                                }});
                for (const Tensor& parameter : net.parameters())
                  EXPECT_TRUE(at::equal(parameter.grad().cpu(), expected)) << seed;
              }
            }),
            0);
}

TEST_F(AveragerTest, TheDeviceOfAProcessIsTheCurrentOneOfItsThread) {
  const c10::impl::VirtualGuardImpl guard(c10::kPrivateUse1);
  EXPECT_EQ(train_a_step([&](Session& session) {
              EXPECT_EQ(torch::device_for(session, kOtherDevice.str()), kOtherDevice);
              EXPECT_EQ(guard.getDevice(), kOtherDevice);
            }),
            0);
  guard.setDevice(kDevice);
}

TEST_F(AveragerTest, RefusesAModuleOnTwoDevices) {
  EXPECT_EQ(train_a_step([](Session& session) {
              Net net(kDevice);
              net.register_parameter("third", at::full({2}, 1.0F));
              give_gradients(net);
              session.average_gradients(net);
            }),
            82);
}

TEST_F(AveragerTest, RefusesSamplesInSumsOfHalfPrecision) {
  EXPECT_EQ(train_a_step([](Session& session) {
              Net net(kDevice);
              give_gradients(net);
              session.average_gradients(net, {.samples = 3, .sum_in_half_precision = true});
            }),
            82);
}

}  // namespace
}  // namespace ratoon::averager_test
