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
        ClaimRecord{.number = number, .owner = {.job = job, .start = "x"}, .is_released = is_released});
  };
  const auto judge = [&](const auto& first, const auto& now, int watched, int silent) {
    return judge_claim(me,
                       {.first = first,
                        .now = now,
                        .observed_duration = seconds(watched),
                        .unchanged_duration = seconds(silent)},
                       times);
  };
  EXPECT_EQ(judge_claim(me, {}, times), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "me of 1"), note(1, "me of 1"), 0, 0), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "me"), note(1, "me"), 0, 0), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "it"), note(1, "it"), 29, 29), ClaimVerdict::kWatch);
  EXPECT_EQ(judge(note(1, "it"), note(1, "it"), 30, 30), ClaimVerdict::kTake);
  EXPECT_EQ(judge(note(1, "it"), note(2, "it"), 10, 0), ClaimVerdict::kRefuse);
  EXPECT_EQ(judge(note(1, "it"), note(2, "it", true), 1, 0), ClaimVerdict::kTake);
  const auto damaged = std::optional(ClaimRecord{.number = 1, .is_unreadable = true});
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
  EXPECT_EQ(compare_jobs("a/b of 1", "a/b of 1"), JobRelation::kSame);
  EXPECT_EQ(compare_jobs("a/b of 1", "a/b"), JobRelation::kSame);
  EXPECT_EQ(compare_jobs("a/b", "a/b of 1"), JobRelation::kSame);
  EXPECT_EQ(compare_jobs("a/b of 1", "a/b of 2"), JobRelation::kNamesake);
  EXPECT_EQ(compare_jobs("a/b of 1", "a/c of 2"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("a/b of 1", "a/c of 1"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("/a on h of 1", "/a on h of 1"), JobRelation::kSame);
  EXPECT_EQ(compare_jobs("/a on h of 1", "/b on h of 1"), JobRelation::kOther) << "one of the two is a copy";
  EXPECT_EQ(compare_jobs("/a on h of 1", "/b on i of 1"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("/a on h of 1", "/a on i of 1"), JobRelation::kNamesake) << "it may be moving";
  EXPECT_EQ(compare_jobs("/a on h", "/a on i"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("/a on h of 1", "/a on h of 2"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("s3://a/b on h of 1", "s3://a/b on h of 2"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("/a on h of 1", "/a on h"), JobRelation::kSame);
  EXPECT_EQ(compare_jobs("/runs of me/x on here", "/runs on here"), JobRelation::kOther);
  EXPECT_EQ(compare_jobs("/runs of me/x on here", "/runs of me/y on here"), JobRelation::kOther);
  EXPECT_TRUE(have_same_uid("/a on h of 1", "/b on h of 1"));
  EXPECT_FALSE(have_same_uid("/a on h of 1", "/a on h of 2"));
  EXPECT_FALSE(have_same_uid("/a on h", "/a on h"));
}

TEST(ClaimTerm, IsTheJobsFirstClaimSinceAnotherJob) {
  const Owner me{.job = "me of 1", .start = "1"};
  const auto after = [&](const char* job, std::uint64_t term, bool is_unreadable = false) {
    return next_term(
        ClaimRecord{
            .number = 8, .owner = {.job = job, .start = "x"}, .is_unreadable = is_unreadable, .term = term},
        me, 9);
  };
  EXPECT_EQ(next_term(std::nullopt, me, 1), 1u);
  EXPECT_EQ(after("me of 1", 3), 3u);
  EXPECT_EQ(after("me of 2", 3), 9u);
  EXPECT_EQ(after("me of 1", kUnknownTerm), 9u) << "an older version made it";
  EXPECT_EQ(after("me of 1", 3, true), 9u) << "nothing says whose it is";
}

TEST(ClaimTerm, IsComparedWhereItIsKnown) {
  EXPECT_TRUE(is_same_term(3, 3));
  EXPECT_FALSE(is_same_term(3, 9));
  EXPECT_TRUE(is_same_term(kUnknownTerm, 9));
  EXPECT_TRUE(is_same_term(9, kUnknownTerm));
  EXPECT_FALSE(is_same_term(kNoTerm, kUnknownTerm));
  EXPECT_FALSE(is_same_term(kUnknownTerm, kNoTerm));
  EXPECT_FALSE(is_same_term(kNoTerm, kNoTerm));
}

TEST(ClaimTerm, IsInTheLineOfTheStart) {
  const Owner me{.job = "me of 1", .start = "0f3a"};
  const std::string held = encode_claim(me, 7, false);
  EXPECT_EQ(held, "ratoon claim 1\njob me of 1\nstart 0f3a since 7\nstate held\n");
  EXPECT_EQ(*decode_claim(9, held), (ClaimRecord{.number = 9, .owner = me, .term = 7}));
  const std::string old = encode_claim(me, kUnknownTerm, true);
  EXPECT_EQ(old, "ratoon claim 1\njob me of 1\nstart 0f3a\nstate released\n");
  EXPECT_EQ(*decode_claim(9, old), (ClaimRecord{.number = 9, .owner = me, .is_released = true}));
  for (const char* start :
       {"a since ", "a since 0", "a since 07", "a since 7 ", "a since -7", "a since seven",
        "a since 18446744073709551615", "a since 18446744073709551616"}) {
    const auto note = decode_claim(9, encode_claim({.job = "me", .start = start}, kUnknownTerm, false));
    ASSERT_TRUE(note) << start;
    EXPECT_EQ(note->term, kUnknownTerm) << start;
    EXPECT_EQ(note->owner.start, start);
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::claim_rules_test
