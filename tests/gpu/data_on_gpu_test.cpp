// Batches in pinned memory, copies to a GPU and data sets held there. Skipped, with a sentence, on a machine
// without a GPU.
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/torch/batch_tensor.h>
#include <ratoon/torch/device_dataset.h>

namespace {

using ratoon::Batch;
using ratoon::DataLoader;
using ratoon::MemoryColumn;
using ratoon::MemoryDataset;
using ratoon::Stream;

constexpr std::int64_t kSamples = 4096;
constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kWidth = 1024;

class DataOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::detail::getCUDAHooks().hasCUDA())
      GTEST_SKIP() << "there is no GPU here, or LibTorch has no CUDA";
  }

  // Sample i is a row of the number i.
  static std::shared_ptr<MemoryDataset> rows() {
    std::vector<float> x(static_cast<std::size_t>(kSamples * kWidth));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / kWidth);
    return MemoryDataset::of({MemoryColumn("x", std::move(x), {kWidth})});
  }

  static Stream in_order() {
    return Stream({.samples = kSamples, .global_batch = kBatch, .order = ratoon::SampleOrder::kInOrder});
  }

  static at::Tensor expected(std::int64_t batch) {
    const at::Tensor first = at::arange(batch * kBatch, (batch + 1) * kBatch, at::kFloat);
    return first.unsqueeze(1).expand({kBatch, kWidth});
  }
};

TEST_F(DataOnGpu, BatchesAreInPinnedMemory) {
  Stream stream = in_order();
  DataLoader loader(rows(), stream, {.threads = 2, .allocate = ratoon::torch::pinned_memory()});
  const Batch batch = loader.next();
  EXPECT_TRUE(ratoon::torch::tensor(batch, "x").is_pinned());
  DataLoader ordinary(rows(), stream, {.threads = 2});
  const Batch plain = ordinary.next();
  EXPECT_FALSE(ratoon::torch::tensor(plain, "x").is_pinned());
}

// The loader has few buffers and fills them again at once, so that a copy which outlives its batch becomes
// visible.
TEST_F(DataOnGpu, EachCopyIsOfItsOwnBatchThoughNobodyWaitsForIt) {
  Stream stream = in_order();
  const ratoon::torch::ToDevice to_device(at::kCUDA);
  DataLoader loader(rows(), stream,
                    {.threads = 3, .prefetch_batches = 2, .allocate = ratoon::torch::pinned_memory()});
  std::vector<at::Tensor> there;
  for (std::int64_t i = 0; i < kSamples / kBatch; ++i) there.push_back(to_device(loader.next(), "x"));
  for (std::size_t i = 0; i < there.size(); ++i) {
    ASSERT_TRUE(there[i].is_cuda());
    EXPECT_TRUE(at::equal(there[i].cpu(), expected(static_cast<std::int64_t>(i)))) << "batch " << i;
  }
}

TEST_F(DataOnGpu, ADataSetIsHeldThereAndGivesItsRows) {
  const auto data = rows();
  const ratoon::torch::DeviceDatasetOptions options{.device = at::kCUDA};
  EXPECT_TRUE(ratoon::torch::DeviceDataset::need_of(*data, options).fits());
  const ratoon::torch::DeviceDataset held(*data, options);
  EXPECT_TRUE(held.column("x").is_cuda());
  Stream stream = in_order();
  const at::Tensor index = held.index(stream.take(0, 1));
  EXPECT_TRUE(index.is_cuda());
  EXPECT_TRUE(at::equal(held.rows("x", index).cpu(), expected(0)));
}

TEST_F(DataOnGpu, WhatDoesNotFitIsRefusedBeforeItIsLoaded) {
  const auto data = rows();
  ratoon::torch::DeviceDatasetOptions options{.device = at::kCUDA};
  options.spare_bytes = std::uint64_t{1} << 50;
  EXPECT_FALSE(ratoon::torch::DeviceDataset::need_of(*data, options).fits());
  EXPECT_ANY_THROW(ratoon::torch::DeviceDataset(*data, options));
}

}  // namespace
