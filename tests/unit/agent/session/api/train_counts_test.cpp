// The counts and reports of train() over the attempts of a run, files only.
#include <algorithm>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/history/history_file.h"
#include "agent/src/history/join.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_counts_test {
namespace {

using testing::HasSubstr;

class TrainCountsTest : public testing::Test {
 protected:
  int train(const std::function<void(Session&)>& function) {
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::vector<std::filesystem::path> manifests() {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run" / "manifests"))
      found.push_back(file.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  test::TemporaryFolder folder_;
  Options options_{
      .save_folder = "", .run_name = "run", .save_every = Every::steps(10), .keep_last = 2, .member = {}};
  std::string said_;
};

constexpr std::uint64_t sum_below(std::uint64_t n) {
  return n * (n - 1) / 2;
}

TEST_F(TrainCountsTest, TheHistoryOfAllAttemptsHasNoGapsAndNoRepeats) {
  const auto reports_until = [this](std::uint64_t throws_after) {
    return train([=](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(50)) {
        if (step == throws_after) throw std::runtime_error("killed");
        sum += step;
        session.report("loss", static_cast<double>(sum), 3);
        session.report("loss", static_cast<double>(sum) + 4, 1);
      }
    });
  };
  for (const std::uint64_t kill : {5, 17, 18, 33}) EXPECT_EQ(reports_until(kill), 1);
  EXPECT_EQ(reports_until(~0ULL), 0);
  EXPECT_THAT(said_, HasSubstr("run: step 50/50"));

  const auto manifest = checkpoint::decode_manifest(test::read_text(manifests().back())).value();
  ASSERT_TRUE(manifest.run);
  const auto disk = checkpoint::RealDisk::open_folder(folder_ / "run").value();
  std::vector<history::Row> rows;
  const auto joined = history::join(
      {.attempt = Attempt(manifest.run->history_attempt), .bytes = manifest.run->history_bytes},
      [&](Attempt attempt) { return history::read_file(*disk, attempt); },
      [&](Attempt, const history::Row& row) {
        if (row.kind == "step") rows.push_back(row);
      });
  ASSERT_TRUE(joined) << joined.error().message();
  ASSERT_EQ(rows.size(), 50u);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, i + 1);
    EXPECT_EQ(rows[i].values.at("loss"), static_cast<double>(sum_below(i + 1)) + 1) << "the weighted mean";
  }
}

TEST_F(TrainCountsTest, EpochsAreThoseOfAStreamAndEndWhereItDoes) {
  options_.save_every = Every::epochs({1, 2});
  options_.keep_last = 100;
  const auto walk = [this](std::uint64_t throws_after) {
    return train([=](Session& session) {
      Stream stream({.samples = 100, .global_batch = 8, .seed = 17, .source = "hundred"});
      session.track("stream", stream);
      session.follow(stream);
      for (const std::uint64_t step : session.steps(Until::epochs(2))) {
        if (step == throws_after) throw std::runtime_error("killed");
        stream.advance();
      }
    });
  };
  for (const std::uint64_t kill : {9, 16, 24}) EXPECT_EQ(walk(kill), 1);
  EXPECT_EQ(walk(~0ULL), 0);
  std::vector<std::string> names;
  for (const auto& file : manifests()) names.push_back(file.filename().string().substr(0, 11));
  // The first steps at or after 50, 100, 150 and 200 samples.
  EXPECT_THAT(names, testing::ElementsAre("s0000000007", "s0000000013", "s0000000019", "s0000000025"));
}

TEST_F(TrainCountsTest, AnEpochEndsOnceWhereverTheRunWasLost) {
  // Every other epoch ends in the middle of a batch.
  const StreamOptions data{.samples = 20, .global_batch = 8, .seed = 17, .source = "twenty"};
  std::vector<std::uint64_t> ended;
  const auto walk = [&](std::uint64_t throws_after) {
    return train([&, throws_after](Session& session) {
      Stream stream(data);
      std::uint64_t in_epoch = 0;
      session.track("stream", stream);
      session.track("in epoch", in_epoch);
      session.follow(stream);
      session.on_epoch_end([&](std::uint64_t epoch) {
        ended.resize(epoch);  // what was lost is made again
        ended.push_back(in_epoch);
        in_epoch = 0;
      });
      for (const std::uint64_t step : session.steps(Until::epochs(4))) {
        if (step == throws_after) throw std::runtime_error("killed");
        stream.advance();
        ++in_epoch;
      }
    });
  };
  options_.save_every = Every::steps(1);
  EXPECT_EQ(walk(~0ULL), 0);
  const std::vector<std::uint64_t> unbroken{3, 2, 3, 2};  // batches since the last one ended
  EXPECT_EQ(ended, unbroken);
  ended.clear();
  options_.run_name = "killed";
  for (const std::uint64_t kill : {3, 5, 8}) EXPECT_EQ(walk(kill), 1);
  EXPECT_EQ(walk(~0ULL), 0);
  EXPECT_EQ(ended, unbroken);
}

TEST_F(TrainCountsTest, EpochsOfNothingDoNotEnd) {
  EXPECT_EQ(train([](Session& session) {
              session.on_epoch_end([](std::uint64_t) {});
              static_cast<void>(session.steps(1));
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("call session.follow(stream) before steps()"));
}

}  // namespace
}  // namespace ratoon::train_counts_test
