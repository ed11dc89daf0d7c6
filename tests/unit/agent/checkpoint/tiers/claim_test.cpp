#include "agent/src/checkpoint/tiers/claim.h"

#include <gmock/gmock.h>

#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// The same rules in a folder and in a store.
class ClaimTest : public testing::TestWithParam<bool> {
 protected:
  ClaimTest() : disk_(GetParam() ? test::store_at(folder_ / "run") : test::folder_at(folder_ / "run")) {}

  Result<Claim> take(
      const std::string& job, const std::string& start, const std::function<void()>& meanwhile = [] {}) {
    return Claim::take(disk_, {.job = job, .start = start}, {.lease = seconds(30)}, clock_, [&](Duration d) {
      clock_.advance(d);
      waited_ += d;
      meanwhile();
      return true;
    });
  }
  std::size_t claim_files() { return disk_->list("claims")->size(); }

  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_;
  ManualClock clock_;
  Duration waited_{0};
};
INSTANTIATE_TEST_SUITE_P(Places, ClaimTest, testing::Values(false, true),
                         [](const auto& place) { return place.param ? "Store" : "Folder"; });

TEST_P(ClaimTest, AnEmptyPlaceIsTakenAtOnce) {
  auto claim = take("digits", "a");
  ASSERT_TRUE(claim);
  EXPECT_EQ(waited_, Duration(0));
  EXPECT_EQ((*newest_claim(*disk_))->owner, (Owner{.job = "digits", .start = "a"}));
}

TEST_P(ClaimTest, ASecondJobIsRefusedWhileTheFirstIsAlive) {
  auto first = take("digits", "a");
  const auto second = take("letters", "b", [&] { EXPECT_TRUE(waited_ < seconds(10) || first->renew()); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_THAT(second.error().message(), HasSubstr("the job digits trains here"));
  EXPECT_LT(waited_, seconds(30));
  EXPECT_TRUE(first->renew()) << "the first has not noticed anything";
  EXPECT_EQ(claim_files(), 1u);
}

TEST_P(ClaimTest, WhoIsSilentForALeaseLosesThePlaceAndIsToldSo) {
  auto first = take("digits", "a");
  auto second = take("letters", "b");
  ASSERT_TRUE(second);
  EXPECT_GE(waited_, seconds(30));
  const auto renewed = first->renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(renewed.error().message(), HasSubstr("belongs to the job letters"));
  EXPECT_FALSE(first->release()) << "nor can it give away what is another's";
  EXPECT_TRUE(second->renew());
}

TEST_P(ClaimTest, TheNextStartOfTheSameJobDoesNotWait) {
  auto first = take("digits", "a");
  auto next = take("digits", "b");
  ASSERT_TRUE(next);
  EXPECT_EQ(waited_, Duration(0));
  EXPECT_FALSE(first->renew()) << "a zombie of the job stops";
  EXPECT_TRUE(next->renew());
}

TEST_P(ClaimTest, WhatWasReleasedIsFree) {
  auto first = take("digits", "a");
  ASSERT_TRUE(first->release());
  ASSERT_TRUE(take("letters", "b"));
  EXPECT_EQ(waited_, Duration(0));
}

TEST_P(ClaimTest, ANumberThatIsLongOverIsNoClaim) {
  auto first = take("digits", "a");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(first->renew());
  EXPECT_EQ(claim_files(), 1u) << "what is over is tidied away";
  EXPECT_EQ(first->number(), 6u);
  // One that was slow makes a number from before: the newest counts.
  ratoon::test::write_text(folder_ / "run/claims/c0000000002.txt", encode_claim({"letters", "b"}, false));
  EXPECT_TRUE(first->renew());
}

TEST_P(ClaimTest, WhatNobodyUnderstandsIsLeftAlone) {
  std::filesystem::create_directories(folder_ / "run/claims");
  ratoon::test::write_text(folder_ / "run/claims/c0000000001.txt", "ratoon claim 2\njob x\n");
  const auto claim = take("digits", "a");
  ASSERT_FALSE(claim);
  EXPECT_THAT(claim.error().message(), HasSubstr("c0000000001.txt: nobody knows whose this place is"));
}

TEST_P(ClaimTest, WhoIsToldToStopWaitingStops) {
  ASSERT_TRUE(take("digits", "a"));
  const auto claim =
      Claim::take(disk_, {.job = "letters", .start = "b"}, {}, clock_, [](Duration) { return false; });
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().kind(), ErrorKind::kCancelled);
}

TEST(JudgeClaim, IsAFunctionOfWhatWasSeen) {
  const Owner me{.job = "me", .start = "1"};
  const auto note = [](std::uint64_t number, const char* job, bool is_released = false) {
    return std::optional(
        ClaimNote{.number = number, .owner = {.job = job, .start = "x"}, .is_released = is_released});
  };
  EXPECT_EQ(judge_claim(me, {}, {}, seconds(0), seconds(30)), ClaimVerdict::kTake);
  EXPECT_EQ(judge_claim(me, note(1, "me"), note(1, "me"), seconds(0), seconds(30)), ClaimVerdict::kTake);
  EXPECT_EQ(judge_claim(me, note(1, "it"), note(1, "it"), seconds(29), seconds(30)), ClaimVerdict::kWatch);
  EXPECT_EQ(judge_claim(me, note(1, "it"), note(1, "it"), seconds(30), seconds(30)), ClaimVerdict::kTake);
  EXPECT_EQ(judge_claim(me, note(1, "it"), note(2, "it"), seconds(60), seconds(30)), ClaimVerdict::kRefuse);
  EXPECT_EQ(judge_claim(me, note(1, "it"), note(2, "it", true), seconds(1), seconds(30)),
            ClaimVerdict::kTake);
}

}  // namespace
}  // namespace ratoon::checkpoint
