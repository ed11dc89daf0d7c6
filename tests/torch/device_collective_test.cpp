// Gradients averaged on an accelerator: ranks are threads, each with a device of the test accelerator, whose
// streams lag. A wait for an event that is left out becomes wrong bits.
#include <array>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "agent/src/torch/collectives/gradients/gradient_buckets.h"
#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/support/accelerator/counts.h"
#include "tests/support/accelerator/faults.h"
#include "tests/support/accelerator/lag.h"
#include "tests/support/nccl_of_threads.h"

namespace ratoon::device_collective_test {
namespace {

namespace accelerator = test::accelerator;
using at::Tensor;

constexpr std::size_t kRanks = 2;
const std::vector<std::vector<std::int64_t>> kShapes = {{40, 30}, {7}, {13, 11}, {1}, {900}};

c10::Device device_of(std::size_t rank) {
  return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(rank)};
}

void synchronize() {
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    c10::impl::VirtualGuardImpl(c10::kPrivateUse1).synchronizeDevice(static_cast<c10::DeviceIndex>(rank));
}

std::vector<Tensor> draw_gradients(at::ScalarType type) {
  std::vector<Tensor> gradients;
  for (const auto& shape : kShapes) gradients.push_back(at::randn(shape).to(type));
  return gradients;
}

// The part of one rank's training that concerns averaging.
struct Rank {
  Rank(std::size_t number, std::vector<Tensor> gradients, c10::Device device)
      : of_host(std::move(gradients)),
        rank(number),
        buckets(parameters_on(of_host, device), 0, {.bucket_bytes = 2000, .device = device}) {}

  static std::vector<Tensor> parameters_on(const std::vector<Tensor>& like, c10::Device device) {
    std::vector<Tensor> parameters;
    for (const Tensor& gradient : like)
      parameters.push_back(
          at::zeros(gradient.sizes(), gradient.options().device(device)).set_requires_grad(true));
    return parameters;
  }
  // Gradients as backward() leaves them: their kernels are queued, and not done.
  void queue_gradients() {
    const c10::AutoGradMode no_grad(false);
    for (std::size_t i = 0; i < of_host.size(); ++i) {
      const Tensor& parameter = buckets.parameters()[i];
      parameter.mutable_grad() = sources[i].mul(2);
    }
  }
  void place_sources() {
    for (const Tensor& gradient : of_host) sources.push_back(gradient.to(buckets.parameters()[0].device()));
  }
  void fill(std::optional<std::uint64_t> samples, std::uint32_t world_size = kRanks) {
    buckets.begin(world_size, samples);
    for (std::size_t piece = 0; piece < buckets.pieces().size(); ++piece) buckets.fill(piece);
    buckets.write_control_word(0);
  }
  std::vector<Tensor> means() const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : buckets.parameters()) all.push_back(parameter.grad().cpu());
    return all;
  }

  std::vector<Tensor> of_host;
  std::vector<Tensor> sources;
  std::size_t rank;
  GradientBuckets buckets;
};

// The control word goes over the host, in the product and here.
void add_up_on_host(std::array<Rank*, kRanks> ranks, std::size_t piece) {
  Tensor& first = ranks[0]->buckets.pieces()[piece];
  for (std::size_t other = 1; other < kRanks; ++other) first.add_(ranks[other]->buckets.pieces()[piece]);
  for (std::size_t other = 1; other < kRanks; ++other) ranks[other]->buckets.pieces()[piece].copy_(first);
}

// The CPU's result for the same gradients.
std::vector<Tensor> expected_means(const std::array<std::vector<Tensor>, kRanks>& gradients,
                                   std::optional<std::uint64_t> samples) {
  Rank one(0, gradients[0], c10::kCPU), two(1, gradients[1], c10::kCPU);
  for (Rank* rank : {&one, &two}) {
    rank->place_sources();
    rank->queue_gradients();
    rank->fill(samples);
  }
  for (std::size_t piece = 0; piece < one.buckets.pieces().size(); ++piece)
    add_up_on_host({&one, &two}, piece);
  static_cast<void>(one.buckets.finish());
  return one.means();
}

using Collectives = std::array<std::unique_ptr<Collective>, kRanks>;

Collectives connect(const std::function<void()>& look = [] {}) {
  const auto id = NcclCommunicator::make_id();
  Collectives made;
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    made[rank] =
        std::make_unique<NcclCollective>(device_of(rank), id, static_cast<std::uint32_t>(rank), kRanks, look);
  return made;
}

void on_each_rank(const std::function<void(std::size_t)>& act) {
  std::vector<std::future<void>> ranks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&act, rank] {
      const c10::DeviceGuard guard(device_of(rank));
      act(rank);
    }));
  }
  for (auto& rank : ranks) rank.get();
}

class DeviceCollective : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(5); }
  void TearDown() override {
    accelerator::end_hangs();
    accelerator::heal();
    test::nccl::reset();
    synchronize();
    accelerator::set_lag(1);
  }

  void expect_the_means_of_the_cpu(at::ScalarType type, std::optional<std::uint64_t> samples) {
    const std::array gradients = {draw_gradients(type), draw_gradients(type)};
    const auto expected = expected_means(gradients, samples);
    std::array<std::unique_ptr<Rank>, kRanks> ranks;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ranks[rank] = std::make_unique<Rank>(rank, gradients[rank], device_of(rank));
      ranks[rank]->place_sources();
    }
    synchronize();
    const Collectives collectives = connect();
    std::barrier meet(kRanks);
    on_each_rank([&](std::size_t rank) {
      Rank& mine = *ranks[rank];
      mine.queue_gradients();
      mine.fill(samples);
      auto& pieces = mine.buckets.pieces();
      for (std::size_t piece = 0; piece + 1 < pieces.size(); ++piece)
        collectives[rank]->begin_sum(pieces[piece]);
      meet.arrive_and_wait();
      if (rank == 0) add_up_on_host({ranks[0].get(), ranks[1].get()}, pieces.size() - 1);
      meet.arrive_and_wait();
      collectives[rank]->queue_wait();
      static_cast<void>(mine.buckets.finish());
      collectives[rank]->wait([] {});
      EXPECT_EQ(collectives[rank]->error(), nullptr);
    });
    for (const auto& rank : ranks) {
      const auto means = rank->means();
      for (std::size_t i = 0; i < means.size(); ++i)
        EXPECT_TRUE(at::equal(means[i], expected[i]))
            << type << " of rank " << rank->rank << ", parameter " << i;
    }
  }
};

TEST_F(DeviceCollective, HasTheMeansOfTheCpuHoweverStreamsLag) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    accelerator::set_lag(seed);
    expect_the_means_of_the_cpu(at::kFloat, std::nullopt);
    expect_the_means_of_the_cpu(at::kFloat, 37);
  }
}

TEST_F(DeviceCollective, HasTheMeansOfTheCpuInOtherTypes) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kHalf}) {
    expect_the_means_of_the_cpu(type, std::nullopt);
    expect_the_means_of_the_cpu(type, 1000);
  }
}

TEST_F(DeviceCollective, AStepOnlyQueuesKernels) {
  Rank rank(0, draw_gradients(at::kFloat), device_of(0));
  rank.place_sources();
  rank.queue_gradients();
  auto collective = std::make_unique<NcclCollective>(device_of(0), NcclCommunicator::make_id(), 0, 1, [] {});
  for (int step = 0; step < 3; ++step) {
    synchronize();
    accelerator::reset_counts();
    rank.fill(37, 1);
    auto& pieces = rank.buckets.pieces();
    for (std::size_t piece = 0; piece + 1 < pieces.size(); ++piece) collective->begin_sum(pieces[piece]);
    collective->queue_wait();
    static_cast<void>(rank.buckets.finish());
    collective->wait([] {});
    const auto counts = accelerator::counts();
    EXPECT_EQ(counts.host_synchronizations, 0u);
    EXPECT_EQ(counts.allocations, 0u);
    EXPECT_EQ(counts.host_copies, 0u);
    EXPECT_EQ(counts.fallbacks, 0u);
    EXPECT_GT(counts.kernels, 0u);
  }
}

struct Interruption {};

TEST_F(DeviceCollective, AWaitEndsWithWhatTheLookThrowsAndTheSumIsAborted) {
  Collectives collectives = connect();
  const Tensor numbers = at::zeros({1000}, at::TensorOptions(device_of(0)));
  collectives[0]->begin_sum(numbers);  // rank 1 never comes
  int looks = 0;
  EXPECT_THROW(collectives[0]->wait([&] {
    if (++looks == 5) throw Interruption();
  }),
               Interruption);
  EXPECT_FALSE(collectives[0]->has_stopped());
  test::nccl::set_milliseconds_of_abort(50);
  collectives[0]->abort();
  while (!collectives[0]->has_stopped()) std::this_thread::yield();
  while (!collectives[0]->is_over()) std::this_thread::yield();
  EXPECT_TRUE(numbers.cpu().isnan().all().item<bool>()) << "what an aborted sum leaves is no number";
}

TEST_F(DeviceCollective, ARankThatIsLostIsAnErrorOfTheSums) {
  Collectives collectives = connect();
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(0)));
  collectives[0]->begin_sum(numbers);
  test::nccl::lose_a_rank();
  collectives[0]->wait([] {});
  ASSERT_NE(collectives[0]->error(), nullptr);
  EXPECT_THROW(std::rethrow_exception(collectives[0]->error()), NcclError);
}

TEST_F(DeviceCollective, WhatNcclRefusesIsRefusedForGood) {
  Collectives collectives = connect();
  test::nccl::refuse_ranks();
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(0)));
  try {
    collectives[0]->begin_sum(numbers);
    FAIL() << "it was not refused";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    EXPECT_NE(std::string(failure.what()).find("over_host"), std::string::npos) << failure.what();
  }
}

TEST_F(DeviceCollective, AnOlderNcclIsRefusedWithBothVersions) {
  test::nccl::become_older();
  try {
    static_cast<void>(
        make_nccl_collective({.device = device_of(0), .broadcast_from_rank_0 = [](auto) {}, .look = [] {}}));
    FAIL() << "it was not refused";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    EXPECT_NE(std::string(failure.what()).find("was compiled against"), std::string::npos) << failure.what();
  }
}

TEST_F(DeviceCollective, ClosesInGoodOrderAndNotWhereARankIsLost) {
  Collectives collectives = connect();
  EXPECT_TRUE(collectives[0]->close());
  test::nccl::lose_a_rank();
  EXPECT_FALSE(collectives[1]->close());
}

// NCCL may or may not have queued the sum: this is known once the abort is over.
TEST_F(DeviceCollective, AnAttemptThatIsInterruptedWhileASumIsBegunHasStoppedOnceItIsAborted) {
  int looks = 0;
  const auto id = NcclCommunicator::make_id();
  NcclCollective lonely(device_of(0), id, 0, kRanks, [&] {
    if (++looks == 3) throw Interruption();
  });  // rank 1 never comes
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(0)));
  EXPECT_THROW(lonely.begin_sum(numbers), Interruption);
  lonely.abort();
  while (!lonely.has_stopped()) std::this_thread::yield();
  while (!lonely.is_over()) std::this_thread::yield();
}

TEST_F(DeviceCollective, AWaitIsOverWhenTheDeviceHasFinishedAndNotBefore) {
  NcclCollective collective(device_of(0), NcclCommunicator::make_id(), 0, 1, [] {});
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(0)));
  accelerator::hang_next_kernel();
  numbers.add_(1);
  collective.begin_sum(numbers);
  int looks = 0;
  collective.wait([&] {
    if (looks == 3) return;  // the kernel may end between two looks
    EXPECT_FALSE(collective.has_stopped());
    if (++looks == 3) accelerator::end_hangs();
  });
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(collective.has_stopped());
}

TEST_F(DeviceCollective, AnErrorOfTheDeviceThatStaysIsThrownAsItIs) {
  NcclCollective collective(device_of(0), NcclCommunicator::make_id(), 0, 1, [] {});
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(0)));
  collective.begin_sum(numbers);
  collective.wait([] {});
  accelerator::break_device(214, "an uncorrectable error of the memory");
  EXPECT_THROW(collective.begin_sum(numbers), c10::AcceleratorError);
  collective.abort();
}

TEST_F(DeviceCollective, AnAbortOfADeviceThatIsGoneDoesNotEndTheProcess) {
  NcclCollective collective(device_of(0), NcclCommunicator::make_id(), 0, 1, [] {});
  accelerator::vanish();
  collective.abort();
}

// If another device were current after a call, CUDA would have created a context on that device.
TEST_F(DeviceCollective, MakesNoDeviceCurrentExceptItsOwn) {
  NcclCollective collective(device_of(1), NcclCommunicator::make_id(), 0, 1, [] {});
  const Tensor numbers = at::zeros({10}, at::TensorOptions(device_of(1)));
  accelerator::reset_counts();
  collective.begin_sum(numbers);
  collective.queue_wait();
  collective.wait([] {});
  EXPECT_TRUE(collective.close());
  EXPECT_EQ(accelerator::counts().event_calls_from_other_devices, 0u);
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST_F(DeviceCollective, TwoHundredAttemptsLeaveNothingBehind) {
  const Tensor numbers = at::zeros({1000}, at::TensorOptions(device_of(0)));
  std::size_t threads = 0;
  for (int attempt = 0; attempt < 200; ++attempt) {
    Collectives collectives = connect();
    collectives[0]->begin_sum(numbers);
    for (auto& collective : collectives) collective->abort();
    while (!collectives[0]->is_over() || !collectives[1]->is_over()) std::this_thread::yield();
    collectives = {};
    if (attempt == 50) threads = entries_of("/proc/self/task");
  }
  EXPECT_EQ(test::nccl::open_communicators(), 0);
  // A thread that was joined may be listed for a moment.
  while (entries_of("/proc/self/task") > threads) std::this_thread::yield();
}

}  // namespace
}  // namespace ratoon::device_collective_test
