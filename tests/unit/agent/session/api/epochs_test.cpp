// A run as a loop over epochs, stopped in any of its steps and started again.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/session/epochs.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::epochs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kNever = 1000;

class EpochsTest : public testing::TestWithParam<EpochEnd> {
 protected:
  // What the run did, of which the checkpoints have their part.
  struct Trace {
    std::vector<std::string> lines{};
    double sum = 0;
    friend bool operator==(const Trace&, const Trace&) = default;
  };

  int train(Trace& trace, std::uint64_t fails_in_step, const std::string& run,
            std::uint64_t finishes_in = kNever) {
    const Options options{
        .save_folder = folder_.path().string(), .run_name = run, .save_every = Every::steps(4), .member = {}};
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      trace = {};
      std::vector<std::int64_t> values(10);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i);
      const auto data = MemoryDataset::of({MemoryColumn("x", values)});
      Stream stream({.global_batch = 4, .seed = 5, .epoch_end = GetParam(), .sources = {source_of(*data)}});
      DataLoader loader(data, stream, {.threads = 0});
      session.track("stream", stream);
      session.track("lines", trace.lines);
      session.track("sum", trace.sum);
      for (const auto& epoch : epochs(session, stream, 3)) {
        for (const Batch& batch : epoch.batches(loader)) {
          if (session.steps_done() == fails_in_step) throw std::runtime_error("the test's own");
          for (const std::int64_t x : batch.column("x").values<std::int64_t>())
            trace.sum = trace.sum * 0.75 + static_cast<double>(x);
          if (session.steps_done() == finishes_in) session.finish("enough");
          if (leaves_in_ == session.steps_done()) break;
        }
        trace.lines.push_back("epoch " + std::to_string(epoch.number()) + " after " +
                              std::to_string(session.steps_done()));
        session.save_best("sum", trace.sum);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  test::TemporaryFolder folder_;
  std::uint64_t leaves_in_ = kNever;
  std::string said_;
};

TEST_P(EpochsTest, HaveTheirTailsOnceWhereverTheRunIsInterrupted) {
  Trace whole;
  ASSERT_EQ(train(whole, kNever, "whole"), 0) << said_;
  ASSERT_EQ(whole.lines.size(), 3u);
  const std::uint64_t steps = GetParam() == EpochEnd::kShort ? 9 : GetParam() == EpochEnd::kDrop ? 6 : 8;
  for (std::uint64_t step = 0; step < steps; ++step) {
    Trace trace;
    const std::string run = "interrupted in " + std::to_string(step);
    EXPECT_EQ(train(trace, step, run), 1) << said_;
    EXPECT_EQ(train(trace, kNever, run), 0) << said_;
    EXPECT_EQ(trace, whole) << run;
  }
}

TEST_P(EpochsTest, AreLeftWithTheRunThatEndsWithinOne) {
  Trace trace;
  EXPECT_EQ(train(trace, kNever, "run", 3), 0) << said_;
  EXPECT_EQ(trace.lines.size(), 2u) << "the second one is not whole, and its tail comes after the last step";
  EXPECT_THAT(said_, HasSubstr("finished at step 4: enough"));
}

TEST_P(EpochsTest, ThatTheProgramLeavesAreRefused) {
  leaves_in_ = 1;
  Trace trace;
  EXPECT_EQ(train(trace, kNever, "run"), 82);
  EXPECT_THAT(said_, HasSubstr("the loop over the batches of epoch 0 was left before its last batch"));
}

INSTANTIATE_TEST_SUITE_P(EpochEnds, EpochsTest,
                         testing::Values(EpochEnd::kCarry, EpochEnd::kShort, EpochEnd::kDrop));

}  // namespace
}  // namespace ratoon::epochs_test
