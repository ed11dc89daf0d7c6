// The hints to data sets about batches that were read or will not be, and the form of a share without rows.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"

namespace ratoon::loader_hints_test {
namespace {

using test::canonical;
using test::NumbersDataset;
using test::train;

constexpr std::uint64_t kSamples = 103;

StreamOptions options() {
  return {.samples = kSamples, .global_batch = 20, .seed = 5, .source = "numbers"};
}

std::shared_ptr<NumbersDataset> numbers() {
  return std::make_shared<NumbersDataset>(kSamples);
}

std::vector<std::uint64_t> samples_of(const Stream& stream, std::uint64_t batch) {
  const SlotRange range = stream.reader().batch(batch);
  std::vector<std::uint64_t> samples;
  for (const Slot& slot : canonical(stream, range.first, range.last)) samples.push_back(slot.sample);
  return samples;
}

// The hints name the samples that are still to be read: from the first unread batch to the last announced
// one, for any number of announced batches.
TEST(DataLoader, TakesBackWhatItHasRead) {
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    for (const std::uint32_t ahead : {0u, 3u, 100u}) {
      const auto set = numbers();
      Stream stream(options());
      {
        DataLoader loader(set, stream, {.threads = threads, .prefetch_batches = 2, .expect_batches = ahead});
        for (int i = 0; i < 30; ++i) {
          const Batch batch = loader.next();
          loader.advance(batch);
          const std::uint64_t first = set->taken_back();
          const auto hints = set->hints();
          EXPECT_GE(first, batch.index() + 1);
          EXPECT_LE(hints.size(), std::max(ahead, 2u) + 1);
          if (threads > 1 || set->taken_back() != first) continue;  // read in any order, or just now
          for (std::size_t k = 0; k < hints.size(); ++k) EXPECT_EQ(hints[k], samples_of(stream, first + k));
        }
      }
      EXPECT_THAT(set->hints(), testing::IsEmpty()) << threads << " threads, " << ahead << " ahead";
    }
  }
}

TEST(DataLoader, TakesBackWhatWillNotBeReadBeforeItTellsOfOthers) {
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    const auto set = numbers();
    Stream stream(options());
    DataLoader loader(set, stream, {.threads = threads, .prefetch_batches = 2, .expect_batches = 20});
    const std::string begin = stream.save_state();
    const auto expect_hints_from = [&](std::uint64_t batch) {
      std::set<std::vector<std::uint64_t>> right;
      for (std::uint64_t k = batch; k < batch + 30; ++k) right.insert(samples_of(stream, k));
      for (const auto& hint : set->hints()) EXPECT_TRUE(right.contains(hint)) << "from batch " << batch;
    };
    for (int round = 0; round < 20; ++round) {
      loader.rewind();
      static_cast<void>(train(loader, 3));
      stream.skip_to(stream.cursor() + 1000);
      static_cast<void>(loader.next());
      expect_hints_from(3);
      stream.load_state(begin);
      static_cast<void>(loader.next());
      expect_hints_from(0);
    }
  }
}

// ---- a share without rows

// Rows whose type and shape only each sample gives: as long as its number.
class Undeclared : public NumbersDataset {
 public:
  using NumbersDataset::NumbersDataset;
  std::span<const Column> columns() const override { return columns_; }
  void read(std::uint64_t id, Sample& into) const override {
    into.begin(id);
    const std::uint64_t shape[] = {id + 1, 2};
    std::ranges::fill(into.add(id % 2 == 0 ? ElementType::kFloat32 : ElementType::kInt64, shape),
                      std::byte{0});
  }

 private:
  std::vector<Column> columns_{{.name = "x"}};
};

// Its type and shape are those of the batch's first sample, for any earlier reads.
TEST(DataLoader, AShareWithoutRowsIsDescribedByItsBatchAlone) {
  const std::uint64_t kFew = 5;
  const StreamOptions few{
      .samples = kFew, .global_batch = 1, .seed = 2, .source = "numbers", .epoch_end = EpochEnd::kShort};
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    for (const std::uint64_t begin : {0u, 1u, 2u, 3u}) {
      Stream stream(few);
      stream.advance(begin);
      DataLoader loader(std::make_shared<Undeclared>(kFew), stream,
                        {.rank = 0, .world_size = 2, .threads = threads});
      for (int i = 0; i < 12; ++i) {
        const Batch batch = loader.next();
        const std::uint64_t first = stream.at(batch.range().first).sample;
        ASSERT_EQ(batch.size(), 0u);
        EXPECT_EQ(batch.column("x").type(), first % 2 == 0 ? ElementType::kFloat32 : ElementType::kInt64);
        EXPECT_THAT(batch.column("x").shape(), testing::ElementsAre(0, first + 1, 2));
        EXPECT_THAT(batch.column("x").bytes(), testing::IsEmpty());
        loader.advance(batch);
      }
    }
  }
}

TEST(DataLoader, AShareWithoutRowsIsAugmentedToo) {
  StreamOptions mixed{.samples = kSamples,
                      .global_batch = 2,
                      .seed = 2,
                      .source = "numbers",
                      .epoch_end = EpochEnd::kShort};  // the last batch of an epoch has one slot
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    Stream stream(mixed);
    const auto cut = [](Sample& sample, SampleRandom& random) {
      const std::uint64_t shape[] = {1 + random.below(1000)};
      std::ranges::fill(sample.replace(1, ElementType::kInt8, shape), std::byte{0});
    };
    DataLoader loader(numbers(), stream, {.rank = 0, .world_size = 2, .threads = threads, .augment = cut});
    DataLoader whole(numbers(), stream, {.threads = 0, .augment = cut});
    for (int i = 0; i < 200; ++i) {
      const Batch batch = loader.next();
      const Batch all = whole.next();
      EXPECT_EQ(batch.size(), batch.range().size() - 1);
      EXPECT_EQ(batch.column("row").type(), ElementType::kInt8);
      const auto first = all.column("row").row(0).shape;
      EXPECT_THAT(batch.column("row").shape().subspan(1), testing::ElementsAreArray(first));
      loader.advance(batch);
    }
  }
}

TEST(DataLoader, ADeclaredShareWithoutRowsReadsNothing) {
  StreamOptions one = options();
  one.global_batch = 1;
  Stream stream(one);
  const auto set = std::make_shared<NumbersDataset>(
      kSamples, [](std::uint64_t, Sample&) { throw std::runtime_error("it was read"); });
  DataLoader loader(set, stream, {.rank = 0, .world_size = 2});
  EXPECT_THAT(loader.next().column("row").shape(), testing::ElementsAre(0, 3));
  EXPECT_THAT(set->expected(), testing::IsEmpty());
}

}  // namespace
}  // namespace ratoon::loader_hints_test
