// A run whose data are others than those that it began with: refused with what differs, and nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon {
namespace {

using testing::HasSubstr;

class TrainData : public testing::Test {
 protected:
  int train(const StreamOptions& data, std::uint64_t steps) {
    const Options options{.save_folder = folder_.path().string(), .run_name = "run", .member = {}};
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      ++calls_;
      Stream stream(data);
      session.track("stream", stream);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(steps)) {
        static_cast<void>(stream.take(0, 1));
        ++steps_;
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const test::TemporaryFolder folder_;
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
       {std::pair(more, "50"), std::pair(reseeded, "seed is 3, and the program has 4")}) {
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

}  // namespace
}  // namespace ratoon
