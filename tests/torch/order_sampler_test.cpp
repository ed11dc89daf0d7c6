// PyTorch's own orders under LibTorch's loader, and the behaviour of LibTorch's loader itself.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/serialize.h>

#include <ratoon/torch/order_sampler.h>
#include <ratoon/torch/stream_sampler.h>
#include <ratoon/torch_stream.h>

#include "tests/torch/numbers.h"

namespace {

using ratoon::StreamOptions;
using ratoon::test::Batches;
using ratoon::test::Ids;
using ratoon::test::Numbers;
using ratoon::test::of;
using ratoon::test::of_stream;
using ratoon::test::rest_of;
using ratoon::test::sentence_of;
using ratoon::torch::OrderSampler;
using ratoon::torch::StreamSampler;
using testing::HasSubstr;
using torch::data::DataLoaderOptions;
using torch::data::make_data_loader;

class Workers : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Some, Workers, testing::Values(0, 1, 4),
                         [](const auto& workers) { return std::to_string(workers.param); });

// torch_vectors.json, loader_batches: the batches of a DataLoader over a DistributedSampler in Python.
const std::vector<Batches> kPython = {
    {{5, 15, 11, 27}, {6, 9, 2, 20}, {1, 12, 36, 29}, {19}},
    {{35, 10, 25, 17}, {18, 21, 8, 4}, {30, 0, 13, 33}, {5}},
    {{7, 24, 22, 23}, {28, 31, 14, 32}, {34, 26, 3, 16}, {35}},
};

TEST_P(Workers, GetTheBatchesOfPythonsLoaderFromAStream) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const StreamOptions options =
        ratoon::torch_stream({.samples = 37, .world_size = 3, .seed = 17}, {.batch_size = 4});
    for (std::uint64_t stop = 8; stop <= 12; ++stop) {  // an epoch has four batches: this is epoch 2
      StreamSampler sampler(options, rank, 3);
      sampler.set_iteration(stop);
      const auto loader = make_data_loader(Numbers(37), sampler, DataLoaderOptions(4).workers(GetParam()));
      Batches trained;
      if (stop < 12) {
        for (Ids& batch : *loader) trained.push_back(batch);
      }
      EXPECT_EQ(trained, rest_of(kPython[rank], stop - 8)) << "rank " << rank << ", resumed at " << stop;
    }
  }
}

TEST_P(Workers, GetTheBatchesOfPythonsLoaderFromItsSampler) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const ratoon::DistributedSamplerOptions options{.samples = 37, .world_size = 3, .rank = rank, .seed = 17};
    for (std::size_t stop = 0; stop <= 4; ++stop) {
      std::string state;
      std::stringstream archive;
      Batches trained;
      for (const std::size_t end : {stop, std::size_t{4}}) {
        ratoon::DistributedSampler order(options);
        if (!state.empty()) order.load_state(state);
        order.set_epoch(2);
        OrderSampler sampler(order);
        if (!state.empty()) torch::load(sampler, archive);
        const auto loader = make_data_loader(Numbers(37), sampler, DataLoaderOptions(4).workers(GetParam()));
        for (Ids& batch : *loader) {
          if (trained.size() == end) break;
          trained.push_back(batch);
          order.advance(batch.size());
        }
        state = order.save_state();
        torch::save(sampler, archive);
      }
      EXPECT_EQ(trained, kPython[rank]) << "rank " << rank << ", stopped after " << stop;
    }
  }
}

TEST_P(Workers, GetTheEpochsOfARandomSampler) {
  const auto order = [] { return ratoon::RandomSampler({.samples = 23}, ratoon::TorchGenerator(17)); };
  ratoon::RandomSampler expected = order();
  ratoon::RandomSampler ours = order();
  const auto loader =
      make_data_loader(Numbers(23), OrderSampler(ours), DataLoaderOptions(5).workers(GetParam()));
  for (int epoch = 0; epoch < 3; ++epoch) {
    if (epoch > 0) {
      expected.begin_next_epoch();
      ours.begin_next_epoch();
    }
    std::vector<std::uint64_t> ids;
    for (Ids& batch : *loader) {
      ids.insert(ids.end(), batch.begin(), batch.end());
      ours.advance(batch.size());
    }
    EXPECT_EQ(ids, expected.fetch(23));
  }
}

// ---- LibTorch's loader itself: docs/train/torch_loader.md says this, and what to do

TEST(LibTorchsLoader, CannotBeginAnewWithWorkersThatFetchAhead) {
  StreamSampler sampler(of(40, 4));
  const auto loader = make_data_loader(Numbers(40), sampler, DataLoaderOptions(4).workers(2));
  static_cast<void>(*loader->begin());
  EXPECT_THAT(sentence_of([&] { loader->begin(); }), HasSubstr("another iterator is not yet exhausted"));
  const auto another = make_data_loader(Numbers(40), sampler, DataLoaderOptions(4).workers(2));
  EXPECT_EQ(*another->begin(), of_stream(of(40, 4), 1).front());
}

TEST(LibTorchsLoader, LosesWhatMaxJobsFetchesWithoutWorkers) {
  StreamSampler sampler(of(40, 4));
  const auto loader = make_data_loader(Numbers(40), sampler, DataLoaderOptions(4).max_jobs(2));
  EXPECT_EQ(*loader->begin(), of_stream(of(40, 4), 3).back());
}

// Fetched ahead to the end of the epoch, the run goes back to the checkpoint at the epoch's first batch.
TEST(StreamSampler, AnEpochThatALoadedStreamBeginsAgainIsGivenAgain) {
  ratoon::Stream stream(of(8, 4));
  const std::string start = stream.save_state();
  StreamSampler sampler(stream);
  while (sampler.next(4)) continue;
  sampler.advance();
  stream.load_state(start);
  EXPECT_NO_THROW(sampler.reset());
  EXPECT_TRUE(sampler.next(4));
}

}  // namespace
