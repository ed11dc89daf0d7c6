#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"

namespace ratoon::data_loader_test {
namespace {

using test::canonical;
using test::number_options;
using test::numbers;
using test::NumbersDataset;
using test::rows_of;
using test::SeenRow;
using test::slots_of;
using test::train;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kSamples = test::kNumbers;

// ---- which samples

TEST(DataLoader, GivesTheSlotsOfTheStreamWhateverTheThreads) {
  std::vector<SeenRow> alone;
  for (const std::uint32_t threads : {0u, 1u, 2u, 3u, 8u, 16u}) {
    Stream stream(number_options());
    DataLoader loader(numbers(), stream,
                      {.threads = threads, .prefetch_batches = 3, .augment = test::add_draws});
    const auto rows = train(loader, 25);
    EXPECT_EQ(slots_of(rows), canonical(stream, 0, 500));
    EXPECT_EQ(stream.cursor(), 500u);
    if (alone.empty()) alone = rows;
    EXPECT_EQ(rows, alone) << threads << " threads: ids, bytes and draws are the same";
  }
}

TEST(DataLoader, RanksTogetherSeeTheWholeOfEachBatchOnce) {
  Stream whole(number_options());
  DataLoader alone(numbers(), whole, {.augment = test::add_draws});
  const auto expected = train(alone, 11);
  for (std::uint32_t world = 1; world <= 8; ++world) {
    std::vector<std::vector<SeenRow>> of_rank(world);
    std::vector<double> weights(11);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      Stream stream(number_options());
      DataLoader loader(numbers(), stream, {.rank = rank, .world_size = world, .augment = test::add_draws});
      for (double& weight : weights) {
        const Batch batch = loader.next();
        EXPECT_EQ(batch.size(), batch.share().size());
        for (SeenRow& row : rows_of(batch)) of_rank[rank].push_back(std::move(row));
        weight += batch.weight();
        loader.advance(batch);
      }
    }
    EXPECT_THAT(weights, Each(testing::DoubleNear(1, 1e-12)));
    std::map<std::uint64_t, SeenRow> by_slot;
    std::size_t rows = 0;
    for (const auto& seen : of_rank) {
      for (const SeenRow& row : seen) by_slot[row.slot.number] = row;
      rows += seen.size();
    }
    ASSERT_EQ(rows, expected.size());
    for (const SeenRow& row : expected) EXPECT_EQ(by_slot[row.slot.number], row);
  }
}

TEST(DataLoader, ARankWithoutSlotsHasColumnsAndNoRows) {
  StreamOptions few = number_options();
  few.global_batch = 2;
  Stream stream(few);
  DataLoader loader(numbers(), stream, {.rank = 0, .world_size = 3});
  const Batch batch = loader.next();
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_EQ(batch.weight(), 0);
  EXPECT_THAT(batch.column("row").shape(), testing::ElementsAre(0u, 3u));
  EXPECT_TRUE(batch.column("row").values<std::uint32_t>().empty());
  loader.advance(batch);
  EXPECT_EQ(loader.next().index(), 1u);
}

TEST(DataLoader, SaysWhichBatchItIs) {
  StreamOptions short_epochs = number_options();
  short_epochs.epoch_end = EpochEnd::kShort;  // 103 samples are 5 batches of 20 and one of 3
  Stream stream(short_epochs);
  DataLoader loader(numbers(), stream, {.rank = 1, .world_size = 2});
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Batch batch = loader.next();
    EXPECT_THROW(static_cast<void>(batch.column("row").values<std::byte>()), std::invalid_argument);
    EXPECT_EQ(batch.index(), i);
    EXPECT_EQ(batch.epoch(), i / 6);
    EXPECT_EQ(batch.index_in_epoch(), i % 6);
    EXPECT_EQ(batch.range(), stream.reader().batch(i));
    EXPECT_EQ(batch.share(), share_of(batch.range(), 1, 2));
    EXPECT_DOUBLE_EQ(batch.weight(), i % 6 == 5 ? 2.0 / 3 : 0.5);
    loader.advance(batch);
  }
}

TEST(DataLoader, CountsTheBatchesOfAnEpochAlsoOnceTheirSizeHasChanged) {
  StreamOptions short_epochs = number_options();
  short_epochs.epoch_end = EpochEnd::kShort;
  Stream stream(short_epochs);
  DataLoader loader(numbers(), stream);
  static_cast<void>(train(loader, 6));
  stream.change_global_batch(40);  // three an epoch from now on
  for (std::uint64_t i = 0; i < 9; ++i) {
    const Batch batch = loader.next();
    EXPECT_EQ(batch.index(), 6 + i);
    EXPECT_EQ(batch.epoch(), 1 + i / 3);
    EXPECT_EQ(batch.index_in_epoch(), i % 3);
    loader.advance(batch);
  }
}

// Each second call takes long, and the next call must wait all the same.
class SlowToExpect : public NumbersDataset {
 public:
  using NumbersDataset::NumbersDataset;
  void expect(std::span<const std::uint64_t> ids) const override {
    const bool is_slow = calls_++ % 2 == 0;
    for (int i = 0; is_slow && i < 2'000; ++i) std::this_thread::yield();
    NumbersDataset::expect(ids);
  }

 private:
  mutable std::atomic<int> calls_ = 0;
};

TEST(DataLoader, TellsDataSetsInOrderWhatComesWhateverTheThreads) {
  const auto data = std::make_shared<SlowToExpect>(kSamples);
  Stream stream(number_options());
  DataLoader loader(data, stream, {.threads = 4, .prefetch_batches = 4, .expect_batches = 16});
  static_cast<void>(train(loader, 15));
  std::vector<std::uint64_t> samples;
  for (const Slot& slot : canonical(stream, 0, 300)) samples.push_back(slot.sample);
  const auto expected = data->expected();
  ASSERT_GE(expected.size(), samples.size());
  EXPECT_TRUE(std::equal(samples.begin(), samples.end(), expected.begin()));
}

TEST(DataLoader, DrawsForASampleDoNotDependOnTheBatchItIsIn) {
  std::map<std::uint64_t, std::vector<std::byte>> of_slot;
  for (const std::uint64_t global_batch : {1u, 7u, 20u, 64u}) {
    StreamOptions other = number_options();
    other.global_batch = global_batch;
    Stream stream(other);
    DataLoader loader(numbers(), stream, {.augment = test::add_draws});
    for (const SeenRow& row : train(loader, 206 / global_batch)) {
      const auto [known, is_new] = of_slot.emplace(row.slot.number, row.bytes);
      EXPECT_EQ(known->second, row.bytes);
    }
  }
  Stream stream(number_options());
  DataLoader again(numbers(), stream, {.augment = test::add_draws});
  DataLoader other_purpose(numbers(), stream, {.augment = test::add_draws, .purpose = "val"});
  EXPECT_NE(rows_of(again.next()), rows_of(other_purpose.next()));
}

TEST(DataLoader, DrawsForASampleCanBeComputedAgain) {
  Stream stream(number_options());
  DataLoader loader(numbers(), stream, {.augment = test::add_draws});
  const std::uint64_t key = sample_random_key(5, "augment", "numbers");
  for (const SeenRow& row : train(loader, 12)) {
    SampleRandom random = sample_random(key, row.slot.epoch, row.slot.sample);
    std::uint32_t expected = 0, drawn = 0;
    for (int i = 0; i < 10; ++i) expected += random.next_u32();
    std::memcpy(&drawn, row.bytes.data() + row.bytes.size() - sizeof drawn, sizeof drawn);
    EXPECT_EQ(drawn, expected) << "slot " << row.slot.number;
  }
}

TEST(DataLoader, ReadsEachSourceOfAMixtureFromItsOwnDataSet) {
  StreamOptions mixture{.global_batch = 32,
                        .seed = 3,
                        .sources = {{.name = "a", .samples = 50, .weight = 0.75},
                                    {.name = "b", .samples = 500, .weight = 0.25}}};
  const auto a = std::make_shared<NumbersDataset>(50);
  const auto b = std::make_shared<NumbersDataset>(500);
  Stream stream(mixture);
  DataLoader loader({a, b}, stream, {.threads = 2, .augment = test::add_draws});
  const auto rows = train(loader, 20);
  EXPECT_EQ(slots_of(rows), canonical(stream, 0, 640));
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::byte>> draws;
  for (const SeenRow& row : rows)
    draws[{row.slot.source, row.slot.sample + 1000 * row.slot.epoch}] = row.bytes;
  int compared = 0;
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    if (!draws.contains({0, sample}) || !draws.contains({1, sample})) continue;
    const bool is_same = draws[{0, sample}] == draws[{1, sample}];
    EXPECT_FALSE(is_same) << "sample " << sample << " of two sources";
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

// ---- what counts

TEST(DataLoader, WhatWasFetchedAndNotTrainedDoesNotCount) {
  Stream stream(number_options());
  DataLoader loader(numbers(), stream, {.threads = 2, .prefetch_batches = 4});
  const Batch first = loader.next(), second = loader.next(), third = loader.next();
  EXPECT_EQ(stream.cursor(), 0u);
  EXPECT_EQ(stream.digest(), Stream(number_options()).digest());
  loader.advance(first);
  loader.advance(second);
  EXPECT_EQ(stream.cursor(), 40u);
  loader.advance(third);
  EXPECT_EQ(stream.cursor(), 60u);
  Stream taken(number_options());
  for (int i = 0; i < 3; ++i) static_cast<void>(taken.take(0, 1));
  EXPECT_EQ(stream.save_state(), taken.save_state()) << "the same as if the stream had been asked itself";
}

TEST(DataLoader, BatchesCountInTheirOrderEachOnce) {
  Stream stream(number_options());
  DataLoader loader(numbers(), stream);
  const Batch first = loader.next(), second = loader.next();
  EXPECT_THAT([&] { loader.advance(second); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("batch 1 cannot be counted: batch 0 is next")));
  loader.advance(first);
  EXPECT_THAT([&] { loader.advance(first); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("batch 0 cannot")));
  loader.advance(second);
  EXPECT_EQ(stream.batches(), 2u);
}

TEST(DataLoader, ABatchOfAnotherPlanDoesNotCount) {
  Stream stream(number_options()), other(number_options());
  DataLoader loader(numbers(), stream), of_other(numbers(), other);
  const Batch batch = loader.next();
  EXPECT_THAT([&] { of_other.advance(batch); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("another stream")));
  stream.change_global_batch(10);
  EXPECT_THAT([&] { loader.advance(batch); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("loaded or changed")));
  EXPECT_EQ(stream.cursor(), 0u);
  EXPECT_EQ(loader.next().size(), 10u);
}

TEST(DataLoader, RewindGoesBackToTheFirstThatDoesNotCount) {
  Stream stream(number_options());
  DataLoader loader(numbers(), stream, {.threads = 1});
  const Batch first = loader.next();
  loader.advance(first);
  const auto second = rows_of(loader.next());
  static_cast<void>(loader.next());
  loader.rewind();
  const Batch again = loader.next();
  EXPECT_EQ(again.index(), 1u);
  EXPECT_EQ(rows_of(again), second);
  loader.advance(again);
  EXPECT_EQ(loader.next().index(), 2u);
}

// ---- changes, in the middle and with batches read ahead

class AfterAChange : public testing::TestWithParam<std::uint32_t> {
 protected:
  Stream stream{number_options()};
  DataLoader loader{
      numbers(), stream, {.threads = GetParam(), .prefetch_batches = 3, .augment = test::add_draws}};

  void SetUp() override {
    static_cast<void>(train(loader, 4));
    static_cast<void>(loader.next());  // one that is never trained
  }

  void expect_next_batches_to_be_the_streams() {
    const std::uint64_t before = stream.batches();
    std::vector<Slot> expected;
    for (std::uint64_t i = before; i < before + 4; ++i) {
      const SlotRange range = stream.reader().batch(i);
      for (const Slot& slot : canonical(stream, range.first, range.last)) expected.push_back(slot);
    }
    EXPECT_EQ(slots_of(train(loader, 4)), expected);
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, AfterAChange, testing::Values(0, 1, 4));

TEST_P(AfterAChange, OfTheStateThatWasLoaded) {
  Stream older(number_options());
  older.advance(2);
  stream.load_state(older.save_state());
  EXPECT_EQ(rows_of(loader.next()).front().slot.number, 40u);
  loader.rewind();
  expect_next_batches_to_be_the_streams();
}

TEST_P(AfterAChange, OfTheSameStateLoadedAgain) {
  stream.load_state(stream.save_state());
  expect_next_batches_to_be_the_streams();
}

TEST_P(AfterAChange, OfTheCursorBySkipping) {
  stream.skip_to(1000);
  EXPECT_EQ(rows_of(loader.next()).front().slot.number, 1000u);
  loader.rewind();
  expect_next_batches_to_be_the_streams();
}

TEST_P(AfterAChange, OfTheCursorByWhoeverElseTrained) {
  stream.advance(7);
  expect_next_batches_to_be_the_streams();
}

TEST_P(AfterAChange, OfTheGlobalBatch) {
  stream.change_global_batch(33);
  const Batch batch = loader.next();
  EXPECT_EQ(batch.size(), 33u);
  EXPECT_EQ(batch.range().first, 80u);
  loader.rewind();
  expect_next_batches_to_be_the_streams();
}

TEST_P(AfterAChange, OfTheShare) {
  loader.set_share(1, 3);
  const Batch batch = loader.next();
  EXPECT_EQ(batch.index(), 4u);
  EXPECT_EQ(batch.share(), share_of({80, 100}, 1, 3));
  EXPECT_EQ(slots_of(rows_of(batch)), canonical(stream, batch.share().first, batch.share().last));
  loader.set_share(0, 1);
  expect_next_batches_to_be_the_streams();
}

// ---- the hints that data sets get

TEST(DataLoader, TellsDataSetsWhatComesAndLongBefore) {
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    const auto set = numbers();
    Stream stream(number_options());
    DataLoader loader(set, stream, {.threads = threads, .prefetch_batches = 1, .expect_batches = 8});
    static_cast<void>(train(loader, 12));
    // The threads of the loader tell the data set while the program trains.
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (set->expected().size() < (12 + 6) * 20u && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    const auto expected = set->expected();
    ASSERT_GE(expected.size(), (12 + 6) * 20u);
    ASSERT_LE(expected.size(), (12 + 8 + 1) * 20u);
    const auto slots = canonical(stream, 0, expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(expected[i], slots[i].sample) << "in order";
  }
}

TEST(DataLoader, TellsDataSetsOnlyOfItsOwnShare) {
  const auto set = numbers();
  Stream stream(number_options());
  DataLoader loader(set, stream, {.rank = 2, .world_size = 5, .threads = 0});
  static_cast<void>(train(loader, 1));
  const auto expected = set->expected();
  ASSERT_GE(expected.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(expected[i], stream.at(8 + i).sample);
}

}  // namespace
}  // namespace ratoon::data_loader_test
