#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"

namespace ratoon::current_sample_random_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Numbers, each with two draws that the data set makes while it reads the sample.
class DrawingDataset : public test::NumbersDataset {
 public:
  using NumbersDataset::NumbersDataset;
  std::span<const Column> columns() const override { return columns_; }
  void read(std::uint64_t id, Sample& into) const override {
    NumbersDataset::read(id, into);
    for (int draw = 0; draw < 2; ++draw) {
      const std::uint32_t drawn = current_sample_random().next_u32();
      std::memcpy(into.add(ElementType::kUint32, {}).data(), &drawn, sizeof drawn);
    }
  }

 private:
  std::vector<Column> columns_{{.name = "id", .type = ElementType::kUint64, .shape = {{}}},
                               {.name = "row", .type = ElementType::kUint32, .shape = {{3}}},
                               {.name = "first", .type = ElementType::kUint32, .shape = {{}}},
                               {.name = "second", .type = ElementType::kUint32, .shape = {{}}}};
};

std::shared_ptr<DrawingDataset> drawing() {
  return std::make_shared<DrawingDataset>(test::kNumbers);
}

TEST(CurrentSampleRandom, InAReadItIsThatOfTheSampleWhateverTheThreads) {
  const std::uint64_t key = read_random_key(5, "augment", "numbers");
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    Stream stream(test::number_options());
    DataLoader loader(drawing(), stream, {.threads = threads});
    for (int step = 0; step < 12; ++step) {
      const Batch batch = loader.next();
      for (std::size_t row = 0; row < batch.size(); ++row) {
        SampleRandom random = sample_random(key, batch.slots()[row].epoch, batch.slots()[row].sample);
        EXPECT_EQ(batch.column("first").row(row).as<std::uint32_t>(), random.next_u32());
        EXPECT_EQ(batch.column("second").row(row).as<std::uint32_t>(), random.next_u32());
      }
      loader.advance(batch);
    }
  }
}

// 103 samples in batches of 20: each place to resume is in the middle of an epoch.
TEST(CurrentSampleRandom, AResumeInTheMiddleOfAnEpochChangesNothing) {
  Stream whole(test::number_options());
  DataLoader unbroken(drawing(), whole, {.threads = 4});
  const auto expected = test::train(unbroken, 11);
  for (const std::uint32_t threads : {0u, 1u, 4u}) {
    for (const int stop : {1, 3, 7}) {
      Stream before(test::number_options());
      DataLoader loader(drawing(), before, {.threads = threads});
      auto rows = test::train(loader, stop);
      Stream after(test::number_options());
      after.load_state(before.save_state());
      DataLoader resumed(drawing(), after, {.threads = threads});
      for (auto& row : test::train(resumed, 11 - stop)) rows.push_back(std::move(row));
      EXPECT_EQ(rows, expected) << threads << " threads, resumed after " << stop;
    }
  }
}

TEST(CurrentSampleRandom, InAnAugmentationItIsTheOneThatTheAugmentationGets) {
  Stream stream(test::number_options());
  const auto augment = [](Sample&, SampleRandom& random) { EXPECT_EQ(&random, &current_sample_random()); };
  DataLoader loader(drawing(), stream, {.threads = 1, .augment = augment});
  EXPECT_EQ(test::train(loader, 2).size(), 40u);
}

TEST(CurrentSampleRandom, AnotherPurposeDrawsOtherNumbers) {
  Stream stream(test::number_options());
  DataLoader one(drawing(), stream, {});
  DataLoader other(drawing(), stream, {.purpose = "val"});
  EXPECT_NE(test::rows_of(one.next()), test::rows_of(other.next()));
}

TEST(CurrentSampleRandom, OutsideOfAReadItIsRefused) {
  const auto ask = [] { static_cast<void>(current_sample_random()); };
  EXPECT_THAT(ask, ThrowsMessage<Failure>(HasSubstr("on a thread that reads no sample")));
  Stream stream(test::number_options());
  DataLoader loader(drawing(), stream, {.threads = 0});
  static_cast<void>(loader.next());
  EXPECT_THROW(ask(), Failure) << "after the reads of this thread";
  SampleRandom outer = sample_random(1, 2, 3);
  const SampleRandomScope scope(outer);
  {
    SampleRandom inner = sample_random(1, 2, 4);
    const SampleRandomScope within(inner);
    EXPECT_EQ(&current_sample_random(), &inner);
  }
  EXPECT_EQ(&current_sample_random(), &outer);
}

}  // namespace
}  // namespace ratoon::current_sample_random_test
