#include "agent/src/checkpoint/tiers/claim_rules.h"

#include <optional>

#include <gtest/gtest.h>

namespace ratoon::checkpoint::claim_rules_test {
namespace {

using std::chrono::seconds;

TEST(JudgeClaim, IsAFunctionOfWhatWasSeen) {
  const Owner me{.job = "me of 1", .start = "1"};
  const ClaimTimes times{.lease = seconds(30), .namesake_wait = seconds(300)};
  const auto note = [](std::uint64_t number, const char* job, bool is_released = false) {
    return std::optional(
        ClaimNote{.number = number, .owner = {.job = job, .start = "x"}, .is_released = is_released});
  };
  const auto judge = [&](const auto& first, const auto& now, int watched, int silent) {
    return judge_claim(
        me, {.first = first, .now = now, .watched = seconds(watched), .silent = seconds(silent)}, times);
  };
  EXPECT_EQ(judge_claim(me, {}, times), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "me of 1"), note(1, "me of 1"), 0, 0), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "me"), note(1, "me"), 0, 0), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "it"), note(1, "it"), 29, 29), ClaimVerdict::kWatch);
  EXPECT_EQ(judge(note(1, "it"), note(1, "it"), 30, 30), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "it"), note(2, "it"), 10, 0), ClaimVerdict::kRefuse);
  EXPECT_EQ(judge(note(1, "it"), note(2, "it", true), 1, 0), ClaimVerdict::kTake);
  const auto damaged = std::optional(ClaimNote{.number = 1, .is_unreadable = true});
  EXPECT_EQ(judge(damaged, damaged, 29, 29), ClaimVerdict::kWatch);
  EXPECT_EQ(judge(damaged, damaged, 30, 30), ClaimVerdict::kTake);
  EXPECT_EQ(judge(damaged, note(2, "it"), 10, 0), ClaimVerdict::kRefuse);
  EXPECT_EQ(judge(note(1, "me of 2"), note(2, "me of 2"), 299, 0), ClaimVerdict::kWatch);
  EXPECT_EQ(judge(note(1, "me of 2"), note(2, "me of 2"), 300, 0), ClaimVerdict::kRefuse);
  EXPECT_EQ(judge(note(1, "me of 2"), note(2, "me of 2"), 40, 30), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "me of 2"), note(1, "me of 2"), 300, 29), ClaimVerdict::kWatch);
}

TEST(JobRelation, IsOfNameAndUid) {
  EXPECT_EQ(job_text("a/b", "6f1c"), "a/b of 6f1c");
  EXPECT_EQ(job_text("a/b", ""), "a/b");
  EXPECT_EQ(relation_of("a/b of 1", "a/b of 1"), JobRelation::kSame);
  EXPECT_EQ(relation_of("a/b of 1", "a/b"), JobRelation::kSame);
  EXPECT_EQ(relation_of("a/b", "a/b of 1"), JobRelation::kSame);
  EXPECT_EQ(relation_of("a/b of 1", "a/b of 2"), JobRelation::kNamesake);
  EXPECT_EQ(relation_of("a/b of 1", "a/c of 2"), JobRelation::kOther);
  EXPECT_EQ(relation_of("a/b of 1", "a/c of 1"), JobRelation::kOther);
  EXPECT_EQ(relation_of("/a on h of 1", "/a on h of 1"), JobRelation::kSame);
  EXPECT_EQ(relation_of("/a on h of 1", "/b on h of 1"), JobRelation::kOther) << "one of the two is a copy";
  EXPECT_EQ(relation_of("/a on h of 1", "/b on i of 1"), JobRelation::kOther);
  EXPECT_EQ(relation_of("/a on h of 1", "/a on i of 1"), JobRelation::kNamesake) << "it may be moving";
  EXPECT_EQ(relation_of("/a on h", "/a on i"), JobRelation::kOther);
  EXPECT_EQ(relation_of("/a on h of 1", "/a on h of 2"), JobRelation::kOther);
  EXPECT_EQ(relation_of("s3://a/b on h of 1", "s3://a/b on h of 2"), JobRelation::kOther);
  EXPECT_EQ(relation_of("/a on h of 1", "/a on h"), JobRelation::kSame);
  EXPECT_EQ(relation_of("/runs of me/x on here", "/runs on here"), JobRelation::kOther);
  EXPECT_EQ(relation_of("/runs of me/x on here", "/runs of me/y on here"), JobRelation::kOther);
  EXPECT_TRUE(have_one_uid("/a on h of 1", "/b on h of 1"));
  EXPECT_FALSE(have_one_uid("/a on h of 1", "/a on h of 2"));
  EXPECT_FALSE(have_one_uid("/a on h", "/a on h"));
}

}  // namespace
}  // namespace ratoon::checkpoint::claim_rules_test
