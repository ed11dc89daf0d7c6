// torch::data datasets in the order of a Stream, with and without workers.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/datasets/map.h>
#include <torch/data/datasets/tensor.h>
#include <torch/data/transforms/base.h>
#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <ratoon/failure.h>
#include <ratoon/torch/dataset_batches.h>
#include <ratoon/torch/digest.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"
#include "tests/torch/numbers.h"

namespace {

using ratoon::EpochEnd;
using ratoon::Stream;
using ratoon::StreamOptions;
using ratoon::test::Batches;
using ratoon::test::Ids;
using ratoon::test::KeyValueStore;
using ratoon::test::Numbers;
using ratoon::test::of;
using ratoon::test::of_stream;
using ratoon::test::sentence_of;
using testing::AllOf;
using testing::HasSubstr;

class DatasetBatches : public testing::TestWithParam<std::size_t> {
 protected:
  auto batches(Stream& stream, std::uint32_t rank = 0, std::uint32_t world = 1) {
    return ratoon::torch::batches(Numbers(stream.epoch_slots(), notes), stream,
                                  {.rank = rank, .world_size = world, .workers = GetParam()});
  }
  std::shared_ptr<KeyValueStore> notes = std::make_shared<KeyValueStore>();
};
INSTANTIATE_TEST_SUITE_P(Workers, DatasetBatches, testing::Values(0, 1, 4),
                         [](const auto& workers) { return std::to_string(workers.param); });

TEST_P(DatasetBatches, AreThoseOfTheStreamEpochByEpoch) {
  for (const EpochEnd end : {EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop}) {
    const StreamOptions options = of(22, 4, end);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      Stream stream(options);
      auto batches = this->batches(stream, rank, 2);
      Batches trained;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::uint64_t index = 0;
        for (auto& batch : batches) {
          EXPECT_EQ(batch.epoch, epoch);
          EXPECT_EQ(batch.index_in_epoch, index++);
          EXPECT_EQ(batch.index, trained.size());
          EXPECT_EQ(batch.range, stream.next_batch());
          EXPECT_EQ(batch.share, ratoon::share_of(batch.range, rank, 2));
          trained.push_back(*batch);
          batches.advance(batch);
        }
        EXPECT_EQ(stream.batches(), stream.batches_until_epoch(epoch + 1));
      }
      EXPECT_EQ(trained, of_stream(options, trained.size(), rank, 2));
    }
  }
}

TEST_P(DatasetBatches, GoOnWithTheFirstThatWasNotTrained) {
  const StreamOptions options = of(22, 4);
  const Batches all = of_stream(options, 17);
  for (std::size_t stop = 0; stop < 17; ++stop) {
    std::string state;
    {
      Stream stream(options);
      auto batches = this->batches(stream);
      for (std::size_t i = 0; i < stop; ++i) {
        const auto batch = batches.next();
        ASSERT_EQ(batch.value, all[i]);
        batches.advance(batch);
      }
      static_cast<void>(batches.next());  // and two more that are handed out and not trained
      static_cast<void>(batches.next());
      state = stream.save_state();
    }
    Stream stream(options);
    auto batches = this->batches(stream);
    stream.load_state(state);
    for (std::size_t i = stop; i < 17; ++i) {
      const auto batch = batches.next();
      ASSERT_EQ(batch.value, all[i]) << "resumed at " << stop;
      EXPECT_EQ(batch.index_in_epoch, i - stream.batches_until_epoch(batch.epoch));
      batches.advance(batch);
    }
  }
}

TEST_P(DatasetBatches, ALoopThatWasLeftGoesOnAndRewindTakesBackWhatWasNotTrained) {
  const StreamOptions options = of(40, 4);
  const Batches all = of_stream(options, 10);
  Stream stream(options);
  auto batches = this->batches(stream);
  for (auto& batch : batches) {
    batches.advance(batch);
    if (batch.index == 2) break;
  }
  Ids next;
  for (auto& batch : batches) {
    next = batch.value;
    break;
  }
  EXPECT_EQ(next, all[3]);
  EXPECT_EQ(batches.next().value, all[4]) << "the one after it";
  batches.rewind();
  EXPECT_EQ(batches.next().value, all[3]);
}

TEST_P(DatasetBatches, FollowTheStreamWhereItGoes) {
  const StreamOptions options = of(40, 4);
  Stream stream(options);
  auto batches = this->batches(stream);
  const auto next = [&] {
    const auto batch = batches.next();
    batches.advance(batch);
    return batch.value;
  };
  const std::string start = stream.save_state();
  for (int i = 0; i < 3; ++i) next();
  stream.load_state(start);
  EXPECT_EQ(next(), of_stream(options, 1)[0]);
  stream.skip_to(28);
  EXPECT_EQ(next(), of_stream(options, 8)[7]);
  stream.change_global_batch(8);
  EXPECT_EQ(next(), of_stream(of(40, 8), 5)[4]);
  EXPECT_EQ(stream.cursor(), 40u);
}

TEST_P(DatasetBatches, WhatTheDatasetThrowsComesWithItsBatchWhichIsTriedAgain) {
  const StreamOptions options = of(40, 4);
  const Batches all = of_stream(options, 10);
  Stream stream(options);
  auto batches = this->batches(stream);
  notes->bad = all[5][2];
  for (std::size_t i = 0; i < 5; ++i) {
    const auto batch = batches.next();
    ASSERT_EQ(batch.value, all[i]);
    batches.advance(batch);
  }
  const std::string sentence = "example " + std::to_string(all[5][2]) + " is bad";
  EXPECT_EQ(sentence_of([&] { static_cast<void>(batches.next()); }), sentence);
  EXPECT_EQ(sentence_of([&] { static_cast<void>(batches.next()); }), sentence);
  EXPECT_THROW(static_cast<void>(batches.next()), std::domain_error) << "as the dataset threw it";
  notes->bad = std::size_t(-1);
  for (std::size_t i = 5; i < 10; ++i) EXPECT_EQ(batches.next().value, all[i]);
}

TEST_P(DatasetBatches, NoExampleIsReadTwiceAndNoMoreThanWasAskedFor) {
  Stream stream(of(400, 4));
  {
    auto batches = this->batches(stream);
    for (int i = 0; i < 10; ++i) batches.advance(batches.next());
  }
  EXPECT_GE(notes->reads, 40u);
  EXPECT_LE(notes->reads, 40u + GetParam() * 2 * 4);
}

// The weights of a training over a resume, beside the weights of a loop without Ratoon.
TEST_P(DatasetBatches, ATrainingOverResumesHasTheSameBits) {
  const StreamOptions options = of(50, 8);
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({50, 3});
  torch::nn::Linear ours(3, 2);
  torch::nn::Linear theirs(3, 2);
  {
    const torch::NoGradGuard no_grad;
    ours->weight.copy_(theirs->weight);
    ours->bias.copy_(theirs->bias);
  }
  const auto step = [](torch::nn::Linear& net, torch::optim::SGD& optimizer, const torch::Tensor& input) {
    optimizer.zero_grad();
    net->forward(input).square().mean().backward();
    optimizer.step();
  };
  torch::optim::SGD their_optimizer(theirs->parameters(), 0.1);
  for (const Ids& ids : of_stream(options, 20)) {
    const std::vector<std::int64_t> index(ids.begin(), ids.end());
    step(theirs, their_optimizer, x.index_select(0, torch::tensor(index)));
  }
  using Example = torch::data::TensorExample;
  const auto dataset = torch::data::datasets::TensorDataset(x).map(torch::data::transforms::Stack<Example>());
  torch::optim::SGD optimizer(ours->parameters(), 0.1);
  std::string state = Stream(options).save_state();
  for (const std::uint64_t stop : {3u, 9u, 20u}) {
    Stream stream(options);
    stream.load_state(state);
    auto batches = ratoon::torch::batches(dataset, stream, {.workers = GetParam()});
    while (stream.batches() < stop) {
      const auto batch = batches.next();
      step(ours, optimizer, batch.value.data);
      batches.advance(batch);
    }
    state = stream.save_state();
  }
  EXPECT_EQ(ratoon::digest(*ours).value(), ratoon::digest(*theirs).value());
}

// In a run that dies twice, only the state of the last checkpoint counts.
TEST_P(DatasetBatches, ASessionGoesOnWhereItsLastCheckpointIs) {
  const StreamOptions options = of(22, 4);
  const ratoon::test::TemporaryFolder folder;
  ratoon::Options run;
  run.save_folder = folder.path();
  run.run_name = "run";
  run.save_every = ratoon::Every::steps(3);
  Batches trained(20);
  for (const std::uint64_t dies_at : {8u, 14u, 100u}) {
    const int code = ratoon::train(run, [&](ratoon::Session& session) {
      Stream stream(options);
      session.track("stream", stream);
      auto batches = this->batches(stream, session.rank(), session.world_size());
      for (const std::uint64_t step : session.steps(20)) {
        const auto batch = batches.next();
        EXPECT_EQ(batch.index, step);
        trained[step] = *batch;
        batches.advance(batch);
        if (step == dies_at) throw std::runtime_error("the process dies");
      }
    });
    EXPECT_EQ(code, dies_at < 20 ? 1 : 0);
  }
  EXPECT_EQ(trained, of_stream(options, 20));
}

TEST_P(DatasetBatches, AreTrainedInTheirOrderEachOnce) {
  Stream stream(of(40, 4));
  auto batches = this->batches(stream);
  const auto first = batches.next();
  const auto second = batches.next();
  EXPECT_THAT(sentence_of([&] { batches.advance(second); }),
              AllOf(HasSubstr("batch 1 cannot be trained now"), HasSubstr("at batch 0")));
  batches.advance(first);
  EXPECT_THROW(batches.advance(first), std::invalid_argument);
  batches.advance(second);
  EXPECT_EQ(stream.batches(), 2u);
}

TEST_P(DatasetBatches, ThatCannotBeAreRefused) {
  Stream stream(of(40, 4));
  const Numbers more(41, notes);
  EXPECT_THAT(sentence_of([&] { static_cast<void>(ratoon::torch::batches(more, stream)); }),
              AllOf(HasSubstr("41"), HasSubstr("40")));
  EXPECT_THAT(sentence_of([&] { this->batches(stream, 2, 2); }), HasSubstr("rank 2"));
  Stream tail(of(13, 4, EpochEnd::kShort));
  auto batches = this->batches(tail, 0, 2);  // it would have none of the one sample
  for (int i = 0; i < 3; ++i) batches.advance(batches.next());
  EXPECT_THAT(sentence_of([&] { static_cast<void>(batches.next()); }),
              HasSubstr("batch 3 has 1 samples for 2 ranks"));
}

// ---- random numbers in get() and in transforms

struct Drawing : torch::data::datasets::Dataset<Drawing, std::vector<std::uint32_t>> {
  std::vector<std::uint32_t> get(std::size_t) override {
    return {ratoon::current_sample_random().next_u32()};
  }
  std::optional<std::size_t> size() const override { return 22; }
};

// Adds a number that it draws itself.
struct Augment : torch::data::transforms::Transform<std::vector<std::uint32_t>, std::vector<std::uint32_t>> {
  std::vector<std::uint32_t> apply(std::vector<std::uint32_t> drawn) override {
    drawn.push_back(ratoon::current_sample_random().next_u32());
    return drawn;
  }
};

struct WholeBatches : torch::data::datasets::BatchDataset<WholeBatches, std::uint32_t> {
  std::uint32_t get_batch(torch::ArrayRef<std::size_t>) override {
    return ratoon::current_sample_random().next_u32();
  }
  std::optional<std::size_t> size() const override { return 22; }
};

TEST_P(DatasetBatches, EachExampleDrawsItsOwnRandomNumbersAlsoAfterAResumeWithinAnEpoch) {
  const std::uint64_t key = ratoon::read_random_key(5, "augment", "s");
  for (const std::size_t stop : {0u, 2u, 7u}) {
    std::string state = Stream(of(22, 4)).save_state();
    for (const std::size_t until : {stop, std::size_t{12}}) {
      Stream stream(of(22, 4));
      stream.load_state(state);
      auto batches = ratoon::torch::batches(Drawing().map(Augment()), stream, {.workers = GetParam()});
      while (stream.batches() < until) {
        const auto batch = batches.next();
        for (std::size_t at = 0; at < batch.value.size(); ++at) {
          const ratoon::Slot slot = stream.at(batch.share.first + at);
          auto random = ratoon::sample_random(key, slot.epoch, slot.sample);
          const std::uint32_t first = random.next_u32();
          EXPECT_EQ(batch.value[at], (std::vector<std::uint32_t>{first, random.next_u32()}));
        }
        batches.advance(batch);
      }
      state = stream.save_state();
    }
  }
}

TEST_P(DatasetBatches, WhereAWholeBatchIsReadAtOnceNoExampleHasAGenerator) {
  Stream stream(of(22, 4));
  auto batches = ratoon::torch::batches(WholeBatches(), stream, {.workers = GetParam()});
  EXPECT_THROW(static_cast<void>(batches.next()), ratoon::Failure);
}

}  // namespace
