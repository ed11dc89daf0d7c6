// A run whose data differ from the data with which it began: it is refused with the difference, and nothing
// is lost.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "base/contract/names.h"
#include "tests/support/change_world.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_data_test {
namespace {

using testing::HasSubstr;

class TrainData : public testing::Test {
 protected:
  int train(const StreamOptions& data, std::uint64_t steps) {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = "run",
                          .seed = said_of_job_.seed,
                          .global_batch = said_of_job_.global_batch,
                          .member = {}};
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      ++calls_;
      Stream stream(session.stream_options(data));
      session.track("stream", stream);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(steps)) {
        static_cast<void>(stream.take(0, 1));
        ++steps_;
      }
      digest_ = stream.digest();
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const test::TemporaryFolder folder_;
  struct {
    std::optional<std::uint64_t> seed{};
    std::optional<std::uint64_t> global_batch{};
  } said_of_job_;
  std::uint64_t digest_ = 0;
  int calls_ = 0;
  std::uint64_t steps_ = 0;
  std::string said_;
};

TEST_F(TrainData, OthersThanItBeganWithAreNamedAndNotTakenAgainAndAgain) {
  const StreamOptions data{.samples = 50, .global_batch = 4, .seed = 3};
  ASSERT_EQ(train(data, 10), 0);
  StreamOptions more = data;
  more.samples = 60;
  StreamOptions reseeded = data;
  reseeded.seed = 4;
  for (const auto& [other, sentence] :
       {std::pair(more, "50"), std::pair(reseeded, "seed is 3, but in the program it is 4")}) {
    calls_ = 0;
    steps_ = 0;
    EXPECT_EQ(train(other, 20), 82);
    EXPECT_THAT(said_, HasSubstr("the state of the sample stream does not fit: in the checkpoint "));
    EXPECT_THAT(said_, HasSubstr(sentence));
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(steps_, 0U);
  }
  steps_ = 0;
  EXPECT_EQ(train(data, 20), 0) << said_;
  EXPECT_EQ(steps_, 10U) << "with the right ones it goes on";
}

TEST_F(TrainData, AStreamThatIsFollowedAndNotTrackedIsNotBegunAnew) {
  std::uint64_t sum = 0;
  std::uint64_t taken = 0;
  const auto train_to = [&](std::uint64_t steps, bool is_tracked) {
    const Options options{.save_folder = folder_.path().string(), .run_name = "followed", .member = {}};
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      Stream stream({.samples = 50, .global_batch = 4, .seed = 3});
      session.track("sum", sum);
      if (is_tracked) session.track("stream", stream);
      session.follow(stream);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(steps)) {
        static_cast<void>(stream.take(0, 1));
        ++taken;
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  };
  ASSERT_EQ(train_to(5, false), 0) << said_;
  taken = 0;
  EXPECT_EQ(train_to(10, false), 82);
  EXPECT_THAT(said_, HasSubstr("the checkpoint of step 5 was saved after 20 samples"));
  EXPECT_THAT(said_, HasSubstr("call session.track(\"stream\", stream) before steps()"));
  EXPECT_EQ(taken, 0U);
  std::filesystem::remove_all(folder_.path() / "followed");
  ASSERT_EQ(train_to(5, true), 0) << said_;
  EXPECT_EQ(train_to(10, true), 0) << said_;
}

TEST_F(TrainData, AFollowedStreamThatOutlivesTheFunctionSkipsNoSamplesInSilence) {
  for (const bool is_tracked : {false, true}) {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = is_tracked ? "tracked" : "untracked",
                          .save_every = Every::steps(2),
                          .member = {}};
    Stream stream({.samples = 50, .global_batch = 4, .seed = 3});
    std::uint64_t sum = 0;
    bool is_lost = false;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      session.track("sum", sum);
      if (is_tracked) session.track("stream", stream);
      session.follow(stream);
      for (const std::uint64_t step : session.steps(8)) {
        static_cast<void>(stream.take(0, 1));
        if (step == 5 && !std::exchange(is_lost, true)) test::change_world(session, "a loss");
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, is_tracked ? 0 : 82) << said_;
    if (is_tracked) {
      EXPECT_EQ(stream.cursor(), 32U);
    } else {
      EXPECT_THAT(said_,
                  HasSubstr("the stream of session.follow() is at sample 24, but the checkpoint of step"));
    }
  }
}

std::uint64_t digest_after(const StreamOptions& data, std::uint64_t batches) {
  Stream stream(data);
  for (std::uint64_t i = 0; i < batches; ++i) static_cast<void>(stream.take(0, 1));
  return stream.digest();
}

TEST_F(TrainData, TheJobOutweighsTheProgram) {
  const StreamOptions own{.samples = 50, .global_batch = 4, .seed = 3};
  said_of_job_ = {.seed = 0, .global_batch = 5};
  ASSERT_EQ(train(own, 10), 0) << said_;
  EXPECT_EQ(digest_, digest_after({.samples = 50, .global_batch = 5, .seed = 0}, 10));
  said_of_job_ = {};
  EXPECT_EQ(train(own, 20), 82) << "what the job says no more is another stream";
  EXPECT_THAT(said_, HasSubstr("seed is 0, but in the program it is 3"));
}

TEST(SaidOfSamples, ByAFlagElseByTheEnvironmentElseByNobody) {
  const auto read = [](std::vector<const char*> words) {
    words.insert(words.begin(), "trainer");
    return Options::from_environment(static_cast<int>(words.size()), words.data(),
                                     {.save_folder = "f", .run_name = "r"})
        .value();
  };
  ::unsetenv(names::env::kSeed);
  EXPECT_EQ(read({}).seed, std::nullopt);
  EXPECT_EQ(read({}).global_batch, std::nullopt);
  ::setenv(names::env::kSeed, "9007199254740991", 1);
  ::setenv(names::env::kGlobalBatch, "268435456", 1);
  EXPECT_EQ(read({}).seed, 9007199254740991U);
  EXPECT_EQ(read({}).global_batch, 268435456U);
  EXPECT_EQ(read({"--seed", "0"}).seed, 0U) << "said, though generators begin with 0 unasked";
  EXPECT_EQ(read({"--global-batch=96"}).global_batch, 96U);
  ::unsetenv(names::env::kSeed);
  ::unsetenv(names::env::kGlobalBatch);
}

TEST_F(TrainData, WhatTheJobDoesNotSayIsTheProgramsOwn) {
  const StreamOptions own{.samples = 50, .global_batch = 4, .seed = 3};
  said_of_job_.global_batch = 5;
  ASSERT_EQ(train(own, 10), 0) << said_;
  EXPECT_EQ(digest_, digest_after({.samples = 50, .global_batch = 5, .seed = 3}, 10));
}

TEST_F(TrainData, AnotherBatchOfTheJobIsRefusedAsTheProgramsIs) {
  const StreamOptions own{.samples = 50, .global_batch = 4, .seed = 3};
  ASSERT_EQ(train(own, 10), 0) << said_;
  steps_ = 0;
  said_of_job_.global_batch = 5;
  EXPECT_EQ(train(own, 20), 82);
  EXPECT_THAT(said_, HasSubstr("batch is 4, but in the program it is 5"));
  EXPECT_EQ(steps_, 0U);
}

}  // namespace
}  // namespace ratoon::train_data_test
