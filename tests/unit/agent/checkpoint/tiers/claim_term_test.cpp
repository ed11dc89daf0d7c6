// The term of a claim, over renewals, starts of a job, and other jobs in between.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::claim_term_test {
namespace {

using testing::HasSubstr;

class ClaimTermTest : public testing::Test {
 protected:
  static constexpr const char* kDigits = "digits of 6f1c";
  static constexpr const char* kLetters = "letters of 77aa";

  // The clock waits for the end of another job's lease.
  Result<Claim> take(const std::string& job, const std::string& start) {
    SeenClaim seen;
    return Claim::take(disk_, {.job = job, .start = start}, {}, clock_, pause(), seen);
  }
  Claim::PauseFunction pause() {
    return [this](Duration look) {
      clock_.advance(look);
      return true;
    };
  }
  ClaimRecord newest() { return (*newest_claim(*disk_)).value(); }

  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_ = test::folder_at(folder_ / "run");
  ManualClock clock_;
};

TEST_F(ClaimTermTest, GoesOnWithEachClaimOfTheJob) {
  auto first = take(kDigits, "a");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->term(), 1u);
  ASSERT_TRUE(first->renew());
  EXPECT_EQ(newest().term, 1u);
  ASSERT_TRUE(*renew_for_owner(*disk_, newest(), "waits"));
  EXPECT_EQ(newest().term, 1u);
  ASSERT_TRUE(first->release());
  EXPECT_EQ(newest().term, 1u);
  auto next = take(kDigits, "b");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->term(), 1u) << "no other job had the place";
  EXPECT_EQ(newest(), (ClaimRecord{.number = 5, .owner = {.job = kDigits, .start = "b"}, .term = 1}));
}

TEST_F(ClaimTermTest, EndsWithTheClaimOfAnotherJob) {
  const Owner digits{.job = kDigits, .start = "a"};
  const auto first = take(kDigits, "a");
  auto other = take(kLetters, "b");
  ASSERT_TRUE(first && other);
  EXPECT_EQ(other->term(), 2u);
  ASSERT_TRUE(other->release());
  auto again = take(kDigits, "a");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->term(), 4u);
  EXPECT_TRUE(confirm_claim(*disk_, digits, 4));
  const auto late = confirm_claim(*disk_, digits, first->term());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(
      late.error().message(),
      HasSubstr("says that the job digits of 6f1c owns this folder or store since its claim 4, but this "
                "attempt began before that claim"));
  EXPECT_TRUE(may_clean_up(*disk_, digits, 4));
  EXPECT_FALSE(may_clean_up(*disk_, digits, first->term())) << "the same process, in an attempt before";
}

// The processes of a job that do not write learn the term from the claim of its rank 0.
TEST_F(ClaimTermTest, IsSeenByOneThatEnters) {
  ASSERT_TRUE(take(kLetters, "a")->release());
  const auto owner = take(kDigits, "b");
  ASSERT_TRUE(owner);
  SeenClaim seen;
  const auto entered = Claim::take_for_job(disk_, {.job = kDigits, .start = "c"}, {}, clock_, pause(), seen);
  ASSERT_TRUE(entered);
  EXPECT_FALSE(*entered) << "another process of the job has the claim";
  EXPECT_EQ(seen.term, owner->term());
}

TEST_F(ClaimTermTest, IsUnknownInAClaimOfAnOlderVersion) {
  const auto claims = folder_ / "run/claims";
  std::filesystem::create_directories(claims);
  ratoon::test::write_text(claims / "c0000000007.txt",
                           "ratoon claim 1\njob digits of 6f1c\nstart old\nstate held\n");
  const Owner digits{.job = kDigits, .start = "old"};
  EXPECT_TRUE(confirm_claim(*disk_, digits, 3)) << "the job alone is compared";
  EXPECT_TRUE(may_clean_up(*disk_, digits, 3));
  ASSERT_TRUE(*renew_for_owner(*disk_, newest(), "waits"));
  EXPECT_EQ(ratoon::test::read_text(claims / "c0000000008.txt"),
            "ratoon claim 1\njob digits of 6f1c\nstart old\nstate held\n");
  const auto next = take(kDigits, "new");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->term(), 9u);
  EXPECT_TRUE(confirm_claim(*disk_, digits, kUnknownTerm)) << "an attempt that began before goes on";
}

}  // namespace
}  // namespace ratoon::checkpoint::claim_term_test
