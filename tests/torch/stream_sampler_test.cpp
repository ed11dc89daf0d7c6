// StreamSampler under an unchanged make_data_loader(): the ids of the Stream, and every resume goes on with
// the first batch that was not trained, for any number of batches that the loader had fetched ahead.
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/data/datasets/tensor.h>
#include <torch/data/transforms/stack.h>
#include <torch/serialize.h>

#include <ratoon/failure.h>
#include <ratoon/torch/stream_sampler.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"
#include "tests/torch/numbers.h"

namespace {

using ratoon::EpochEnd;
using ratoon::Failure;
using ratoon::Slot;
using ratoon::Stream;
using ratoon::StreamOptions;
using ratoon::test::Batches;
using ratoon::test::Ids;
using ratoon::test::Numbers;
using ratoon::test::of;
using ratoon::test::of_stream;
using ratoon::test::rest_of;
using ratoon::test::samples_of;
using ratoon::test::sentence_of;
using ratoon::torch::StreamSampler;
using testing::AllOf;
using testing::HasSubstr;
using torch::data::DataLoaderOptions;
using torch::data::make_data_loader;

// Trains until `total` batches of the run are trained, or until the epoch ends, as a user's loop does.
template <class Loader>
void train(Loader& loader, StreamSampler& sampler, std::uint64_t total, Batches& trained) {
  for (Ids& batch : loader) {
    if (sampler.iteration() == total) return;  // this one was fetched, and is not trained
    trained.push_back(batch);
    sampler.advance();
  }
}

class Workers : public testing::TestWithParam<std::size_t> {
 protected:
  auto loader(const StreamOptions& options, StreamSampler& sampler, std::size_t batch_size) {
    return make_data_loader(Numbers(options.samples), sampler,
                            DataLoaderOptions(batch_size).workers(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Some, Workers, testing::Values(0, 1, 4),
                         [](const auto& workers) { return std::to_string(workers.param); });

TEST_P(Workers, GetTheBatchesOfTheStreamAndEpochsEndWithThem) {
  for (const EpochEnd end : {EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop}) {
    const StreamOptions options = of(22, 4, end);
    const Stream stream(options);
    StreamSampler sampler(options);
    const auto loader = this->loader(options, sampler, 4);
    Batches trained;
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      EXPECT_EQ(sampler.epoch(), epoch);
      EXPECT_EQ(sampler.index_in_epoch(), 0u);
      const std::uint64_t batches = sampler.batches_in_epoch();
      train(*loader, sampler, 1000, trained);
      EXPECT_EQ(trained.size(), stream.batches_until_epoch(epoch + 1));
      EXPECT_EQ(batches, stream.batches_until_epoch(epoch + 1) - stream.batches_until_epoch(epoch));
    }
    EXPECT_EQ(trained, of_stream(options, trained.size()));
  }
}

TEST_P(Workers, GetARanksShareWhateverTheWorld) {
  const StreamOptions options = of(31, 10);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    StreamSampler sampler(options, rank, 4);
    const auto loader = this->loader(options, sampler, sampler.batch_size());
    Batches trained;
    for (int epoch = 0; epoch < 3; ++epoch) train(*loader, sampler, 1000, trained);
    EXPECT_EQ(trained.size(), 10u);
    EXPECT_EQ(trained, of_stream(options, trained.size(), rank, 4));
  }
}

// A run that is stopped in the middle of its second epoch, with every way of a resume.
TEST_P(Workers, GoOnWithTheFirstBatchThatWasNotTrained) {
  const StreamOptions options = of(22, 4);
  const Batches all = of_stream(options, 17);
  for (std::uint64_t stop = 0; stop < 17; ++stop) {
    Batches trained;
    std::string state;
    std::stringstream archive;
    {
      StreamSampler sampler(options);
      const auto loader = this->loader(options, sampler, 4);
      while (sampler.iteration() < stop) train(*loader, sampler, stop, trained);
      ASSERT_EQ(trained, Batches(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(stop)));
      state = sampler.save_state();
      torch::save(sampler, archive);
    }
    Stream tracked(options);
    tracked.advance(stop);
    for (int way = 0; way < 4; ++way) {
      SCOPED_TRACE("stopped after " + std::to_string(stop) + ", way " + std::to_string(way));
      StreamSampler sampler = way == 3 ? StreamSampler(tracked) : StreamSampler(options);
      if (way == 0) sampler.load_state(state);
      if (way == 1) sampler.set_iteration(stop);
      if (way == 2) torch::load(sampler, archive);
      EXPECT_EQ(sampler.iteration(), stop);
      const Stream fresh(options);
      EXPECT_EQ(sampler.epoch(), stop * 4 / 22);
      EXPECT_EQ(sampler.index_in_epoch(), stop - fresh.batches_until_epoch(sampler.epoch()));
      const auto loader = this->loader(options, sampler, 4);
      Batches rest;
      train(*loader, sampler, 1000, rest);
      EXPECT_EQ(rest.size(), fresh.batches_until_epoch(stop * 4 / 22 + 1) - stop) << "the rest of the epoch";
      while (sampler.iteration() < 17) train(*loader, sampler, 17, rest);
      EXPECT_EQ(rest, rest_of(all, stop));
    }
  }
}

TEST_P(Workers, ThreeResumesInARowLoseAndRepeatNothing) {
  const StreamOptions options = of(101, 8, EpochEnd::kShort);
  Stream unbroken(options);
  Batches trained;
  std::string state = unbroken.save_state();
  for (const std::uint64_t stop : {5u, 7u, 20u, 41u}) {
    Stream stream(options);
    stream.load_state(state);
    StreamSampler sampler(stream);
    const auto loader = this->loader(options, sampler, 8);
    while (sampler.iteration() < stop) train(*loader, sampler, stop, trained);
    state = stream.save_state();
  }
  EXPECT_EQ(trained, of_stream(options, 41));
  unbroken.advance(41);
  EXPECT_EQ(state, unbroken.save_state()) << "the digest of the samples too";
}

// In a run that dies twice, only the state of the last checkpoint counts.
TEST_P(Workers, GoOnInASessionWhereItsLastCheckpointIs) {
  const StreamOptions options = of(22, 4);
  const ratoon::test::TemporaryFolder folder;
  const ratoon::Options run{
      .save_folder = folder.path(), .run_name = "run", .save_every = ratoon::Every::steps(3)};
  Batches trained(20);
  for (const std::uint64_t dies_at : {8u, 14u, 100u}) {
    const int code = ratoon::train(run, [&](ratoon::Session& session) {
      Stream stream(options);
      session.track("stream", stream);
      StreamSampler sampler(stream, session.rank(), session.world_size());
      const auto loader = this->loader(options, sampler, 4);
      auto batch = loader->end();
      for (const std::uint64_t step : session.steps(20)) {
        if (batch == loader->end()) batch = loader->begin();
        EXPECT_EQ(sampler.iteration(), step);
        trained[step] = *batch;
        sampler.advance();
        ++batch;
        if (step == dies_at) throw std::runtime_error("the process dies");
      }
    });
    EXPECT_EQ(code, dies_at < 20 ? 1 : 0);
  }
  EXPECT_EQ(trained, of_stream(options, 20));
}

// The same for a program's own loop over epochs and batches, as docs/train/loop.md has it.
TEST_P(Workers, KeepTheirLoopInASession) {
  const StreamOptions options = of(22, 4);
  const ratoon::test::TemporaryFolder folder;
  const ratoon::Options run{
      .save_folder = folder.path(), .run_name = "run", .save_every = ratoon::Every::steps(3)};
  Batches trained(20);
  for (const std::uint64_t dies_at : {8u, 14u, 100u}) {
    const int code = ratoon::train(run, [&](ratoon::Session& session) {
      Stream stream(options);
      session.track("stream", stream);
      StreamSampler sampler(stream, session.rank(), session.world_size());
      const auto loader = this->loader(options, sampler, 4);
      const auto steps = session.steps(20);
      for (auto step = steps.begin(); step != steps.end();) {
        for (Ids& batch : *loader) {
          trained[*step] = batch;
          sampler.advance();
          if (*step == dies_at) throw std::runtime_error("the process dies");
          if (++step == steps.end()) break;
        }
      }
    });
    EXPECT_EQ(code, dies_at < 20 ? 1 : 0);
  }
  EXPECT_EQ(trained, of_stream(options, 20));
}

// The loader of the row in which the state is saved after batch 4 and the program ends after batch 6.
TEST_P(Workers, BatchesAfterTheStateDoNotCount) {
  const StreamOptions options = of(100, 5);
  std::string state;
  {
    StreamSampler sampler(options);
    const auto loader = this->loader(options, sampler, 5);
    Batches trained;
    for (Ids& batch : *loader) {
      trained.push_back(batch);
      sampler.advance();
      if (trained.size() == 4) state = sampler.save_state();
      if (trained.size() == 6) break;
    }
  }
  StreamSampler sampler(options);
  sampler.load_state(state);
  const auto loader = this->loader(options, sampler, 5);
  EXPECT_EQ(*loader->begin(), of_stream(options, 5).back());
}

// Two optimizer steps may make one with accumulation, and set_iteration() alone is enough.
TEST_P(Workers, NeedNoStateButTheNumberOfBatches) {
  const StreamOptions options = of(26, 4);
  const Batches all = of_stream(options, 26);
  Batches trained;
  while (trained.size() < 26) {
    StreamSampler sampler(options);
    const auto loader = this->loader(options, sampler, 4);
    for (int epoch = 0; epoch < 2 && trained.size() < 26; ++epoch) {
      sampler.set_iteration(trained.size());  // where set_epoch() stood
      for (Ids& batch : *loader) trained.push_back(batch);
    }
  }
  EXPECT_EQ(trained, all);
}

TEST(StreamSampler, SeeksInNoTime) {
  const StreamOptions options = of(std::uint64_t{1} << 40, 1024);
  StreamSampler sampler(options);
  const std::uint64_t far = std::uint64_t{3} << 31;
  sampler.set_iteration(far);
  std::vector<Slot> slots(1024);
  Stream(options).reader().fill(far * 1024, slots);
  EXPECT_EQ(sampler.next(1024), samples_of(slots));
  EXPECT_EQ(sampler.epoch(), 6u);
  sampler.set_iteration(0);
  sampler.reset();
  EXPECT_EQ(sampler.next(1024), of_stream(options, 1).front()) << "and back";
}

TEST(StreamSampler, IsTheSameInEveryCopyAndAnyWorldLoadsTheState) {
  StreamSampler sampler(of(40, 6), 1, 3);
  StreamSampler copy = sampler;
  static_cast<void>(copy.next(2));
  sampler.advance();
  EXPECT_EQ(copy.iteration(), 1u);
  StreamSampler other(of(40, 6), 0, 2);
  other.load_state(sampler.save_state());
  EXPECT_EQ(other.next(3), of_stream(of(40, 6), 2, 0, 2).back());
}

// Numbers as of a dataset that has the sources one after the other.
TEST(StreamSampler, NumbersTheSourcesOfAMixtureOneAfterTheOther) {
  const StreamOptions options{.global_batch = 8,
                              .seed = 5,
                              .sources = {{.name = "a", .samples = 20, .weight = 1, .shards = {}},
                                          {.name = "b", .samples = 10, .weight = 3, .shards = {}}}};
  StreamSampler sampler(options);
  const auto loader = make_data_loader(Numbers(30), sampler, DataLoaderOptions(8));
  Batches trained;
  train(*loader, sampler, 1000, trained);
  EXPECT_EQ(trained.size(), 4u) << "of 30 slots";
  Stream stream(options);
  for (const Ids& batch : trained) {
    Ids ids;
    for (const Slot& slot : stream.take(0, 1)) ids.push_back(slot.source * 20 + slot.sample);
    EXPECT_EQ(batch, ids);
  }
}

// The data set of a user with a transform, as in LibTorch's own examples.
TEST(StreamSampler, LeavesDatasetAndTransformsAsTheyAre) {
  const torch::Tensor x = torch::randn({30, 3});
  const StreamOptions options = of(30, 7);
  StreamSampler sampler(options);
  const auto loader = make_data_loader(torch::data::datasets::TensorDataset(x).map(
                                           torch::data::transforms::Stack<torch::data::TensorExample>()),
                                       sampler, DataLoaderOptions(7).workers(2));
  Stream stream(options);
  for (auto& batch : *loader) {
    std::vector<std::int64_t> ids;
    for (const Slot& slot : stream.take(0, 1)) ids.push_back(static_cast<std::int64_t>(slot.sample));
    EXPECT_TRUE(batch.data.equal(x.index_select(0, torch::tensor(ids))));
    sampler.advance();
  }
  EXPECT_EQ(stream.batches(), 5u);
}

// ---- what is refused

TEST(StreamSampler, ABatchSizeThatIsNotTheShareIsRefused) {
  StreamSampler sampler(of(40, 10), 0, 4);
  EXPECT_THAT(sentence_of([&] { sampler.next(10); }),
              AllOf(HasSubstr("batch_size is 10"), HasSubstr("global batch of 10 among 4 ranks is 3")));
}

TEST(StreamSampler, AdvanceCountsBatchesThatWereFetched) {
  StreamSampler sampler(of(40, 10));
  EXPECT_THAT(sentence_of([&] { sampler.advance(); }), HasSubstr("exceeds the 0 fetched batches"));
  static_cast<void>(sampler.next(10));
  EXPECT_THAT(sentence_of([&] { sampler.advance(10); }),
              AllOf(HasSubstr("advance(10)"), HasSubstr("exceeds the 1 fetched batches"),
                    HasSubstr("batches, not samples")));
  EXPECT_EQ(sampler.iteration(), 0u);
}

TEST(StreamSampler, AnEpochThatNobodyCountedIsNotGivenAgain) {
  StreamSampler sampler(of(8, 4));
  const auto loader = make_data_loader(Numbers(8), sampler, DataLoaderOptions(4));
  const auto count = [&] {
    int batches = 0;
    for ([[maybe_unused]] Ids& batch : *loader) ++batches;
    return batches;
  };
  EXPECT_EQ(count(), 2);
  EXPECT_THAT(sentence_of(count),
              AllOf(HasSubstr("the 2 batches of an epoch"), HasSubstr("none was counted as trained")));
  sampler.set_iteration(0);
  EXPECT_EQ(count(), 2) << "on purpose, as for validation";
  sampler.set_iteration(0);
  static_cast<void>(*loader->begin());
  EXPECT_EQ(count(), 2) << "a loop that was left";
}

TEST(StreamSampler, ALoaderInMidEpochDoesNotGoOnFromElsewhere) {
  const StreamOptions options = of(40, 4);
  Stream stream(options);
  const std::string start = stream.save_state();
  StreamSampler sampler(stream);
  const auto two = [&] {
    static_cast<void>(sampler.next(4));
    static_cast<void>(sampler.next(4));
  };
  two();
  sampler.advance(2);
  const std::string second = stream.save_state();
  for (const auto& move : std::vector<std::function<void()>>{
           [&] { stream.load_state(start); }, [&] { stream.load_state(second); },
           [&] { stream.skip_to(stream.cursor() + 4); }, [&] { stream.advance(5); },
           [&] { stream.change_global_batch(5); }}) {
    move();
    EXPECT_THAT(sentence_of([&] { sampler.next(4); }), HasSubstr("in the middle of an epoch"));
    EXPECT_THAT(sentence_of([&] { sampler.advance(); }), HasSubstr("in the middle of an epoch"));
    sampler.reset();
    static_cast<void>(sampler.next(stream.global_batch()));
    EXPECT_NO_THROW(sampler.advance());
  }
}

TEST(StreamSampler, OneOfAStreamGoesOnlyForward) {
  Stream stream(of(40, 4));
  StreamSampler sampler(stream);
  sampler.set_iteration(3);
  EXPECT_EQ(stream.batches(), 3u);
  EXPECT_THAT(sentence_of([&] { sampler.set_iteration(2); }),
              AllOf(HasSubstr("has trained 3 batches"), HasSubstr("cannot go back to 2")));
}

TEST(StreamSampler, NoShareIsEmpty) {
  StreamSampler few(of(40, 3), 3, 4);
  EXPECT_THAT(sentence_of([&] { few.reset(); }), HasSubstr("batch 0 has 3 samples for 4 ranks"));
  StreamSampler tail(of(13, 4, EpochEnd::kShort), 1, 2);  // this rank would have the one sample
  EXPECT_THAT(sentence_of([&] { tail.reset(); }), HasSubstr("batch 3 has 1 samples for 2 ranks"));
  EXPECT_THAT(sentence_of([] { StreamSampler(of(40, 4), 2, 2); }), HasSubstr("rank 2"));
}

TEST(StreamSampler, AStateThatDoesNotFitIsRefusedWithBothValues) {
  StreamSampler sampler(of(40, 4));
  StreamOptions other_seed = of(40, 4);
  other_seed.seed = 6;
  EXPECT_THAT(sentence_of([&] { sampler.load_state(StreamSampler(other_seed).save_state()); }),
              AllOf(HasSubstr("seed"), HasSubstr("6"), HasSubstr("5")));
  Stream changed(of(40, 4));
  changed.advance(2);
  changed.skip_to(9);
  EXPECT_THAT(sentence_of([&] { sampler.load_state(changed.save_state()); }),
              AllOf(HasSubstr("the plan of the saved run changed"), HasSubstr("after 2 batches, at slot 9")));
  EXPECT_EQ(sampler.iteration(), 0u);
  std::stringstream archive;
  torch::save(torch::ones(2), archive);
  EXPECT_THAT(sentence_of([&] { torch::load(sampler, archive); }), HasSubstr("no state of a sampler"));
  EXPECT_THAT(sentence_of([&] { sampler.reset(41); }), HasSubstr("40"));
}

}  // namespace
