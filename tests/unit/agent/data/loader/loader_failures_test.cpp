// Exceptions of data sets and augmentation, and the end of reading.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"

namespace ratoon::loader_failures_test {
namespace {

using namespace std::chrono_literals;
using test::canonical;
using test::NumbersDataset;
using test::rows_of;
using test::SeenRow;
using test::slots_of;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kSamples = 64;

StreamOptions in_order(std::uint64_t global_batch = 8) {
  return {.samples = kSamples,
          .global_batch = global_batch,
          .seed = 1,
          .source = "numbers",
          .order = SampleOrder::kInOrder};
}

std::string what_next_throws(DataLoader& loader) {
  try {
    static_cast<void>(loader.next());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class Failures : public testing::TestWithParam<std::uint32_t> {
 protected:
  LoaderOptions options() const { return {.threads = GetParam(), .prefetch_batches = 3}; }
};

INSTANTIATE_TEST_SUITE_P(Threads, Failures, testing::Values(0, 1, 4));

TEST_P(Failures, ComeOutWithTheirBatchAndNameTheSample) {
  const auto set = std::make_shared<NumbersDataset>(kSamples, [](std::uint64_t id, Sample&) {
    if (id == 19) throw Failure(84, "the shard cannot be read");
  });
  Stream stream(in_order());
  DataLoader loader(set, stream, options());
  static_cast<void>(test::train(loader, 2));
  for (int i = 0; i < 3; ++i) {
    try {
      static_cast<void>(loader.next());
      FAIL() << "batch 2 has sample 19";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code, 84);
      EXPECT_STREQ(failure.what(),
                   "reading sample 19 of source 0 'numbers' (epoch 0, slot 19): the shard cannot be read");
      try {
        std::rethrow_if_nested(failure);
        FAIL() << "nothing is nested";
      } catch (const Failure& original) {
        EXPECT_STREQ(original.what(), "the shard cannot be read");
      }
    }
    EXPECT_EQ(stream.cursor(), 16u) << "it is tried again, and nothing is skipped";
  }
  stream.skip_to(24);
  EXPECT_EQ(loader.next().range().first, 24u) << "but by a skip that the state keeps";
}

TEST_P(Failures, ThatPassCostNoSample) {
  std::atomic<int> failures = 0;
  std::set<std::uint64_t> failed;
  std::mutex mutex;
  const auto set = std::make_shared<NumbersDataset>(kSamples, [&](std::uint64_t id, Sample&) {
    const std::lock_guard lock(mutex);
    if (id % 5 == 0 && failed.insert(id).second) throw std::runtime_error("a moment, please");
  });
  Stream stream(in_order());
  DataLoader loader(set, stream, options());
  std::vector<SeenRow> rows;
  while (stream.cursor() < 128) {
    try {
      const Batch batch = loader.next();
      for (SeenRow& row : rows_of(batch)) rows.push_back(std::move(row));
      loader.advance(batch);
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("a moment, please"));
      ++failures;
    }
  }
  EXPECT_EQ(slots_of(rows), canonical(stream, 0, 128));
  EXPECT_GE(failures, 8);
  EXPECT_LE(failures, 13);
}

TEST_P(Failures, OfSeveralSamplesAreThoseOfTheFirst) {
  const auto set = std::make_shared<NumbersDataset>(kSamples, [](std::uint64_t id, Sample&) {
    if (id % 16 == 3) std::this_thread::yield();  // the first is often not the first to fail
    if (id % 16 >= 3) throw 7;
  });
  Stream stream(in_order(16));
  DataLoader loader(set, stream, options());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(what_next_throws(loader),
              "reading sample 3 of source 0 'numbers' (epoch 0, slot 3): an exception that is not a "
              "std::exception");
  }
}

TEST_P(Failures, OfAugmentationAreNoFailuresOfReading) {
  LoaderOptions fails = options();
  fails.augment = [](Sample& sample, SampleRandom&) {
    if (sample.id() == 5) throw std::domain_error("no such angle");
  };
  Stream stream(in_order());
  DataLoader loader(std::make_shared<NumbersDataset>(kSamples), stream, fails);
  EXPECT_EQ(what_next_throws(loader),
            "augmenting sample 5 of source 0 'numbers' (epoch 0, slot 5): no such angle");
}

TEST_P(Failures, OfWhatAugmentationMadeAreSaid) {
  const auto with = [&](std::function<void(Sample&, SampleRandom&)> augment) {
    LoaderOptions fails = options();
    fails.augment = std::move(augment);
    Stream stream(in_order());
    DataLoader loader(std::make_shared<NumbersDataset>(kSamples), stream, fails);
    return what_next_throws(loader);
  };
  EXPECT_THAT(with([](Sample& sample, SampleRandom&) { sample.add(ElementType::kInt8, {}); }),
              HasSubstr("the sample has 3 fields, but its data set has 2 columns"));
  EXPECT_THAT(
      with([](Sample& sample, SampleRandom&) {
        if (sample.id() == 5) sample.replace(0, ElementType::kInt64, {});
      }),
      HasSubstr("column 'id' has values of type uint64 in one sample of a batch and int64 in another"));
}

TEST_P(Failures, OfAFieldThatLiesAboutItsBytesAreSaid) {
  class Liar : public NumbersDataset {
   public:
    using NumbersDataset::NumbersDataset;
    void read(std::uint64_t id, Sample& into) const override {
      into.begin(id);
      into.add({.type = ElementType::kUint64, .bytes = std::as_bytes(std::span("abc"))});
      into.add(ElementType::kUint32, *columns()[1].shape);
    }
  };
  Stream stream(in_order());
  DataLoader loader(std::make_shared<Liar>(kSamples), stream, options());
  EXPECT_THAT(what_next_throws(loader), HasSubstr("field 'id' has 4 bytes, and its shape says 8"));
}

// LoaderInput goes well without them.
TEST_P(Failures, OfHintsAreNone) {
  class Hasty : public NumbersDataset {
   public:
    using NumbersDataset::NumbersDataset;
    void expect(std::span<const std::uint64_t>) const override {
      throw std::runtime_error("no hints, please");
    }
  };
  Stream stream(in_order());
  DataLoader loader(std::make_shared<Hasty>(kSamples), stream, options());
  EXPECT_EQ(slots_of(test::train(loader, 3)), canonical(stream, 0, 24));
}

TEST_P(Failures, OfAllocationAreThoseOfTheBatch) {
  Stream stream(in_order());
  LoaderOptions poor = options();
  poor.allocate = [](std::size_t) -> std::shared_ptr<std::byte> { throw std::bad_alloc(); };
  DataLoader loader(std::make_shared<NumbersDataset>(kSamples), stream, poor);
  EXPECT_EQ(what_next_throws(loader), std::bad_alloc().what());
  EXPECT_EQ(what_next_throws(loader), std::bad_alloc().what());
}

// The batch that failed is still the next one: its samples stay the most urgent ones.
TEST_P(Failures, KeepTheTurnOfWhatIsExpected) {
  const auto set = std::make_shared<NumbersDataset>(kSamples, [](std::uint64_t id, Sample&) {
    if (id == 19) throw Failure(84, "the shard cannot be read");
  });
  Stream stream(in_order());
  {
    DataLoader loader(set, stream, options());
    static_cast<void>(test::train(loader, 2));
    for (int i = 0; i < 5; ++i) {
      EXPECT_THROW(static_cast<void>(loader.next()), Failure);
      const auto hints = set->hints();
      ASSERT_FALSE(hints.empty());
      EXPECT_THAT(hints.front(), testing::ElementsAre(16, 17, 18, 19, 20, 21, 22, 23));
    }
  }
  EXPECT_THAT(set->hints(), testing::IsEmpty());
}

// ---- reading ahead

TEST(ReadingAhead, IsBounded) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t reads = 0;
  const auto set = std::make_shared<NumbersDataset>(kSamples, [&](std::uint64_t, Sample&) {
    const std::lock_guard lock(mutex);
    ++reads;
    changed.notify_all();
  });
  Stream stream(in_order());
  DataLoader loader(set, stream, {.threads = 4, .prefetch_batches = 3});
  for (std::uint64_t taken = 1; taken <= 5; ++taken) {
    const Batch batch = loader.next();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 2min, [&] { return reads == (taken + 3) * 8; }));
    EXPECT_FALSE(changed.wait_for(lock, 20ms, [&] { return reads > (taken + 3) * 8; })) << "and no further";
  }
}

// A thread that sleeps in its read delays the batches behind it, but does not change their order.
TEST(ReadingAhead, KeepsTheOrderWhateverTheSpeed) {
  const auto set = std::make_shared<NumbersDataset>(kSamples, [](std::uint64_t id, Sample&) {
    if (id % 7 == 0) std::this_thread::yield();
    std::atomic<int> work = 0;
    while (++work < static_cast<int>(id * 7919 % 5000)) continue;
  });
  for (const std::uint32_t threads : {1u, 2u, 5u, 16u}) {
    Stream stream(in_order(5));
    DataLoader loader(set, stream, {.threads = threads, .prefetch_batches = 8});
    EXPECT_EQ(slots_of(test::train(loader, 60)), canonical(stream, 0, 300));
  }
}

// ---- stopping

// Reads of samples from 8 on wait until the test opens the gate, or the loader reports that they are not
// wanted.
class Gate {
 public:
  void wait(std::uint64_t id, const std::stop_token& stop) {
    if (id < 8) return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    arrived_.notify_all();
    opened_.wait(lock, stop, [this] { return is_open_; });
    --waiting_;
    if (!is_open_) throw std::runtime_error("given up");
  }
  void wait_for_a_reader() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable_any opened_;
  int waiting_ = 0;
  bool is_open_ = false;
};

TEST_P(Failures, StopEndsANextThatWaitsForASlowRead) {
  Gate gate;
  const auto set = std::make_shared<NumbersDataset>(
      kSamples, [&](std::uint64_t id, Sample& sample) { gate.wait(id, sample.stop()); });
  Stream stream(in_order());
  DataLoader loader(set, stream, options());
  static_cast<void>(test::train(loader, 1));
  std::thread stopper([&] {
    gate.wait_for_a_reader();
    loader.stop();
  });
  EXPECT_THROW(static_cast<void>(loader.next()), Interrupted);
  stopper.join();
  EXPECT_THROW(static_cast<void>(loader.next()), Interrupted) << "for good";
  EXPECT_EQ(stream.cursor(), 8u);
}

TEST_P(Failures, StopEndsANextThatWaitsForASlowAugmentation) {
  Gate gate;
  LoaderOptions slow = options();
  slow.augment = [&](Sample& sample, SampleRandom&) { gate.wait(sample.id(), sample.stop()); };
  Stream stream(in_order());
  DataLoader loader(std::make_shared<NumbersDataset>(kSamples), stream, slow);
  static_cast<void>(test::train(loader, 1));
  std::thread stopper([&] {
    gate.wait_for_a_reader();
    loader.stop();
  });
  EXPECT_THROW(static_cast<void>(loader.next()), Interrupted);
  stopper.join();
}

TEST(Stopping, TheDestructorWaitsForNoSlowRead) {
  Gate gate;
  const auto set = std::make_shared<NumbersDataset>(
      kSamples, [&](std::uint64_t id, Sample& sample) { gate.wait(id, sample.stop()); });
  Stream stream(in_order());
  DataLoader loader(set, stream, {.threads = 3, .prefetch_batches = 3});
  static_cast<void>(loader.next());
  gate.wait_for_a_reader();
}

// The threads that read for the old position go to the new one, and do not wait for unwanted samples.
TEST(Stopping, AChangeOfPlaceGivesUpSlowReads) {
  Gate gate;
  const auto set = std::make_shared<NumbersDataset>(
      kSamples, [&](std::uint64_t id, Sample& sample) { gate.wait(id, sample.stop()); });
  Stream stream(in_order());
  DataLoader loader(set, stream, {.threads = 1, .prefetch_batches = 3});
  const std::string begin = stream.save_state();
  static_cast<void>(test::train(loader, 1));
  gate.wait_for_a_reader();
  stream.load_state(begin);
  EXPECT_EQ(loader.next().range().first, 0u);
}

// One thread is slow to notice: the expected samples are still those of the new position.
TEST(Stopping, AChangeOfPlaceTakesHintsBackWhileAThreadStillReads) {
  std::atomic<bool> is_at_it = false, may_go = false;
  const auto set = std::make_shared<NumbersDataset>(kSamples, [&](std::uint64_t id, Sample&) {
    if (id != 8) return;
    is_at_it = true;
    while (!may_go) std::this_thread::yield();
  });
  Stream stream(in_order());
  DataLoader loader(set, stream, {.threads = 2, .prefetch_batches = 1, .expect_batches = 3});
  static_cast<void>(test::train(loader, 1));
  while (!is_at_it) std::this_thread::yield();
  stream.skip_to(40);
  EXPECT_EQ(loader.next().range().first, 40u);
  for (const auto& hint : set->hints()) EXPECT_THAT(hint.front(), testing::AnyOf(40, 48, 56, 0));
  may_go = true;
}

// With one thread, sample 20 is in the middle of a piece; with four threads the samples are spread.
TEST(Stopping, ThreadsReadNoFurtherThanTheSampleTheyAreAt) {
  for (const int threads : {1, 4}) {
    std::atomic<int> reads = 0;
    std::atomic<bool> has_come_far = false, is_stopped = false;
    const auto set = std::make_shared<NumbersDataset>(kSamples, [&](std::uint64_t, Sample&) {
      if (++reads < 20) return;
      has_come_far = true;
      while (!is_stopped) std::this_thread::yield();
    });
    Stream stream(in_order(64));
    {
      DataLoader loader(set, stream, {.threads = static_cast<std::uint32_t>(threads), .prefetch_batches = 1});
      std::thread stopper([&] {
        while (!has_come_far) std::this_thread::yield();
        loader.stop();
        is_stopped = true;
      });
      EXPECT_THROW(static_cast<void>(loader.next()), Interrupted);
      stopper.join();
    }
    EXPECT_GE(reads, 20);
    EXPECT_LE(reads, 20 + threads - 1) << "the others were at theirs";
  }
}

TEST(Stopping, BeforeAnythingWasReadIsAllRight) {
  Stream stream(in_order());
  DataLoader unused(std::make_shared<NumbersDataset>(kSamples), stream, {.threads = 16});
  DataLoader loader(std::make_shared<NumbersDataset>(kSamples), stream, {.threads = 2});
  loader.stop();
  loader.stop();
  EXPECT_THROW(static_cast<void>(loader.next()), Interrupted);
}

}  // namespace
}  // namespace ratoon::loader_failures_test
