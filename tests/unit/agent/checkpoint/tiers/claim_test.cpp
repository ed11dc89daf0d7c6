#include "agent/src/checkpoint/tiers/claim.h"

#include <utility>

#include <gmock/gmock.h>

#include "tests/support/crash/observed_disk.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"
#include "tests/unit/agent/checkpoint/tiers/unreadable_claims.h"

namespace ratoon::checkpoint::claim_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// The same rules in a folder and in a store.
class ClaimTest : public testing::TestWithParam<bool> {
 protected:
  ClaimTest() : disk_(GetParam() ? test::store_at(folder_ / "run") : test::folder_at(folder_ / "run")) {}

  Result<Claim> take(
      const std::string& job, const std::string& start, const std::function<void()>& meanwhile = [] {}) {
    return take_on(disk_, job, start, meanwhile);
  }
  Result<Claim> take_on(const std::shared_ptr<Disk>& disk, const std::string& job, const std::string& start,
                        const std::function<void()>& meanwhile) {
    SeenClaim seen;
    return Claim::take(
        disk, {.job = job, .start = start}, kTimes, clock_,
        [&](Duration d) {
          clock_.advance(d);
          waited_ += d;
          meanwhile();
          return true;
        },
        seen);
  }
  // A claim as another process left it.
  void leave(std::uint64_t number, const std::string& text) {
    std::filesystem::create_directories(folder_ / "run/claims");
    ratoon::test::write_text(folder_ / ("run/claims/c000000000" + std::to_string(number) + ".txt"), text);
  }
  static constexpr ClaimTimes kTimes{
      .lease = seconds(30), .poll_interval = seconds(1), .namesake_wait = seconds(300)};
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

TEST_P(ClaimTest, AClaimThatIsKeptAliveByAnotherProcessStaysItsOwners) {
  auto owner = take("digits of 1", "a");
  const ClaimRecord first = **newest_claim(*disk_);
  EXPECT_TRUE(*renew_for_owner(*disk_, first, "b"));
  EXPECT_EQ(**newest_claim(*disk_), (ClaimRecord{.number = 2, .owner = first.owner, .term = 1}));
  EXPECT_TRUE(owner->renew());
  EXPECT_FALSE(*renew_for_owner(*disk_, first, "b")) << "that one is over";
}

TEST_P(ClaimTest, AnOwnerThatLosesARaceToOneThatKeepsItAliveStaysTheOwner) {
  bool is_kept = true;
  const auto slow = std::make_shared<ratoon::test::ObservedDisk>(
      disk_, [&](ratoon::test::DiskCall call, const std::string&, ratoon::test::Moment moment) {
        if (call != ratoon::test::DiskCall::kRename || moment != ratoon::test::Moment::kBefore) return;
        if (std::exchange(is_kept, true)) return;
        EXPECT_TRUE(*renew_for_owner(*disk_, **newest_claim(*disk_), "b"));
      });
  auto owner = take_on(slow, "digits of 1", "a", [] {});
  is_kept = false;
  EXPECT_TRUE(owner->release());
  EXPECT_TRUE((*newest_claim(*disk_))->is_released);
}

// After the greatest number of a file name no claim could follow.
TEST_P(ClaimTest, ANumberThatNoRunReachesIsNobodysClaim) {
  std::filesystem::create_directories(folder_ / "run/claims");
  const auto strange = folder_ / "run/claims/c18446744073709551615.txt";
  ratoon::test::write_text(strange, encode_claim({.job = "letters", .start = "b"}, 1, false));
  auto claim = take("digits", "a");
  ASSERT_TRUE(claim) << claim.error().message();
  EXPECT_TRUE(claim->renew());
  EXPECT_EQ(waited_, Duration(0));
  EXPECT_TRUE(std::filesystem::exists(strange));
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

TEST_P(ClaimTest, IsConfirmedUntilAnotherJobHasThePlace) {
  const Owner owner{.job = "digits of 1", .start = "a"};
  EXPECT_EQ(confirm_claim(*disk_, owner, 1).error().kind(), ErrorKind::kConflict) << "nothing was claimed";
  ASSERT_TRUE(take(owner.job, owner.start));
  EXPECT_TRUE(confirm_claim(*disk_, owner, 1));
  ASSERT_TRUE(take(owner.job, "b")) << "another start of the job";
  EXPECT_TRUE(confirm_claim(*disk_, owner, 1));
  ASSERT_TRUE(take("letters of 2", "c")) << "after a lease";
  const auto lost = confirm_claim(*disk_, owner, 1);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(lost.error().message(), testing::HasSubstr("now belongs to the job letters of 2, start c"));
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
  // A slow process makes an old number: the newest number counts.
  ratoon::test::write_text(folder_ / "run/claims/c0000000002.txt", encode_claim({"letters", "b"}, 2, false));
  EXPECT_TRUE(first->renew());
}

TEST_P(ClaimTest, WhoMakesANumberThatIsLongOverHasNotTakenThePlace) {
  std::optional<Claim> others;
  // Between its read and its claim another process takes the place, renews its claim and removes old claims.
  const auto slow = std::make_shared<ratoon::test::ObservedDisk>(
      disk_, [&](ratoon::test::DiskCall call, const std::string&, ratoon::test::Moment moment) {
        const bool is_claim =
            call == ratoon::test::DiskCall::kRename && moment == ratoon::test::Moment::kBefore;
        if (!is_claim || others) return;
        others.emplace(take("letters", "b").value());
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(others->renew());
      });
  const auto taken = take_on(slow, "digits", "a", [&] { EXPECT_TRUE(others->renew()); });
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message(), HasSubstr("the job letters trains here"));
  EXPECT_EQ(claim_files(), 1u) << "and the number that was made too late is removed";
}

// As with a thousand processes that begin at once.
TEST_P(ClaimTest, RacesThatOthersOfTheJobWinAreNoError) {
  int races = 0;
  const auto crowded = std::make_shared<ratoon::test::ObservedDisk>(
      disk_, [&](ratoon::test::DiskCall call, const std::string&, ratoon::test::Moment moment) {
        const bool is_claim =
            call == ratoon::test::DiskCall::kRename && moment == ratoon::test::Moment::kBefore;
        if (!is_claim || races == 150) return;
        ++races;
        EXPECT_TRUE(take("digits of 6f1c", "other-" + std::to_string(races)));
      });
  const auto taken = take_on(crowded, "digits of 6f1c", "a", [] {});
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(races, 150);
  EXPECT_EQ((*newest_claim(*disk_))->owner.start, "a");
}

TEST_P(ClaimTest, RacesThatStrangersWinAllTheTimeMayBeTriedAgain) {
  int races = 0;
  const auto crowded = std::make_shared<ratoon::test::ObservedDisk>(
      disk_, [&](ratoon::test::DiskCall call, const std::string&, ratoon::test::Moment moment) {
        const bool is_claim =
            call == ratoon::test::DiskCall::kRename && moment == ratoon::test::Moment::kBefore;
        if (!is_claim) return;
        ++races;
        EXPECT_TRUE(take("letters of 77aa", "b")->release());
      });
  const auto taken = take_on(crowded, "digits of 6f1c", "a", [] {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind(), ErrorKind::kUnavailable) << taken.error().message();
  EXPECT_GE(races, 100);
}

// Deleted and made anew at once: the old pods still save and leave.
TEST_P(ClaimTest, AJobThatWasMadeAnewGoesOnWhereTheFormerOneEnds) {
  auto former = take("digits of 6f1c", "a");
  auto next = take("digits of 77aa", "b", [&] {
    if (waited_ > seconds(60)) return;
    EXPECT_TRUE(waited_ < seconds(60) ? former->renew() : former->release());
  });
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(waited_, seconds(60));
  EXPECT_FALSE(former->renew());
}

TEST_P(ClaimTest, AJobThatWasMadeAnewGoesOnWhereTheFormerOneWasKilled) {
  auto former = take("digits of 6f1c", "a");
  auto next = take("digits of 77aa", "b", [&] { EXPECT_TRUE(waited_ > seconds(10) || former->renew()); });
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(waited_, seconds(40)) << "a lease after its last sign of life";
  EXPECT_FALSE(former->renew()) << "a zombie of it stops";
}

TEST_P(ClaimTest, OfTwoLiveJobsOfOneNameTheSecondIsRefused) {
  auto first = take("digits of 6f1c", "a");
  const auto second = take("digits of 77aa", "b", [&] { EXPECT_TRUE(first->renew()); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_THAT(
      second.error().message(),
      HasSubstr("the job digits of 6f1c trains here, and that job is alive; this job has the same name, but "
                "is digits of 77aa: end the other job, which may run in another cluster"));
  EXPECT_EQ(waited_, seconds(300));
  EXPECT_TRUE(first->renew()) << "the first has not noticed anything";
}

TEST_P(ClaimTest, ARestartOfTheSameUidAndAnOlderAgentOfTheJobDoNotWait) {
  for (const char* job : {"digits of 6f1c", "digits of 6f1c", "digits", "digits of 6f1c"})
    ASSERT_TRUE(take(job, "a")) << job;
  EXPECT_EQ(waited_, Duration(0));
}

TEST_P(ClaimTest, WhatWasWrittenBeforeThereWereUidsIsRead) {
  leave(7, "ratoon claim 1\njob team-a/digits\nstart old\nstate held\n");
  EXPECT_EQ((*newest_claim(*disk_))->owner, (Owner{.job = "team-a/digits", .start = "old"}));
  ASSERT_TRUE(take("team-a/digits of 6f1c", "new"));
  EXPECT_EQ(waited_, Duration(0));
  EXPECT_EQ(ratoon::test::read_text(folder_ / "run/claims/c0000000008.txt"),
            "ratoon claim 1\njob team-a/digits of 6f1c\nstart new since 8\nstate held\n")
      << "the four lines that agents without UIDs understand, too";
}

// Attempts of a world may end before a lease is over.
TEST_P(ClaimTest, TheSilenceOfAttemptsThatWereCutShortAddsUp) {
  ASSERT_TRUE(take("digits of 6f1c", "a"));
  SeenClaim seen;
  int looks = 0;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto claim = Claim::take(
        disk_, {.job = "digits of 77aa", .start = "b"}, kTimes, clock_,
        [&](Duration d) {
          clock_.advance(d);
          return ++looks % 12 != 0;
        },
        seen);
    EXPECT_EQ(static_cast<bool>(claim), attempt == 3) << attempt;
  }
  EXPECT_EQ(looks, 30);
}

// A claim as a power cut leaves it, or as a newer Ratoon writes it.
TEST_P(ClaimTest, AnOwnerWhoseClaimCannotBeReadIsWatchedForALease) {
  for (const char* text : {"", "ratoon claim 2\njob x\n"}) {
    leave(7, text);
    waited_ = {};
    auto claim = take("digits", "a");
    ASSERT_TRUE(claim) << claim.error().message();
    EXPECT_EQ(waited_, seconds(30)) << text;
    EXPECT_EQ(claim->number(), 8u);
    ASSERT_TRUE(disk_->remove("claims/c0000000008.txt"));
  }
}

TEST_P(ClaimTest, AnOwnerWhoseClaimCannotBeReadAndThatIsAliveKeepsThePlace) {
  leave(7, "");
  const auto second = take("digits", "a", [&] {
    if (waited_ == seconds(8)) leave(8, "");
  });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_THAT(second.error().message(), HasSubstr("c0000000008.txt cannot be read"));
}

TEST_P(ClaimTest, AnOwnersOwnClaimThatIsDamagedIsRenewed) {
  auto claim = take("digits", "a");
  leave(1, "");
  EXPECT_TRUE(claim->renew());
  leave(3, "");
  const auto renewed = claim->renew();
  ASSERT_FALSE(renewed) << "another made it";
  EXPECT_THAT(renewed.error().message(), HasSubstr("belongs to a job whose claim cannot be read"));
}

// A sector that cannot be read stays unreadable: the place would be lost until a person removes the file.
TEST_P(ClaimTest, AClaimThatTheDiskRefusesToReadIsWatchedForALeaseAsWell) {
  auto first = take("digits", "a");
  const auto bad = std::make_shared<test::UnreadableClaims>(disk_, "claims/c0000000001.txt");
  auto second = take_on(bad, "digits", "b", [] {});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(waited_, seconds(30));
  EXPECT_TRUE(second->number() == 2u && second->renew());
}

TEST_P(ClaimTest, ALiveClaimThatTheDiskDoesNotReadIsAFaultThatMayPass) {
  auto first = take("digits", "a");
  const auto bad = std::make_shared<test::UnreadableClaims>(disk_, "claims/");
  const auto second = take_on(bad, "digits", "b", [&] { EXPECT_TRUE(first->renew()); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kIo);
  EXPECT_THAT(second.error().message(), HasSubstr("newer claims follow it (a bad sector)"));
}

TEST_P(ClaimTest, AnotherUidOnOneHostAndPathIsAnotherJob) {
  auto first = take("/runs/digits on here of 6f1c", "a");
  const auto second = take("/runs/digits on here of 77aa", "b",
                           [&] { EXPECT_TRUE(waited_ < seconds(10) || first->renew()); });
  ASSERT_FALSE(second);
  EXPECT_LT(waited_, seconds(30)) << "no farewell: nothing says that the first one ends";
}

// A copied folder has the identity of the original job.
TEST_P(ClaimTest, OneIdentityInTwoPlacesIsTwoJobs) {
  auto first = take("/runs/digits on here of 6f1c", "a");
  const auto copy = take("/copies/digits on here of 6f1c", "b",
                         [&] { EXPECT_TRUE(waited_ < seconds(10) || first->renew()); });
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_THAT(
      copy.error().message(),
      HasSubstr("the job /runs/digits on here of 6f1c trains here, and that job is alive; this job is "
                "/copies/digits on here of 6f1c and has the same identity, for example because its folder"));
  EXPECT_LT(waited_, seconds(30));
  EXPECT_TRUE(first->renew()) << "the first has not noticed anything";
}

// As after a move, a restore, or a kill in a container whose paths have changed.
TEST_P(ClaimTest, AJobThatWasKilledAndStartsInAnotherPlaceWaitsForALease) {
  ASSERT_TRUE(take("/runs/digits on here of 6f1c", "a"));
  for (const char* job : {"/moved/digits on here of 6f1c", "/moved/digits on there of 6f1c"}) {
    waited_ = {};
    ASSERT_TRUE(take(job, "b")) << job;
    EXPECT_EQ(waited_, seconds(30)) << job;
  }
  waited_ = {};
  ASSERT_TRUE(take("/moved/digits on there of 6f1c", "c"));
  EXPECT_EQ(waited_, Duration(0)) << "there it starts at once";
}

// As with a job of a scheduler that is moved to another host.
TEST_P(ClaimTest, AJobThatMovesToAnotherHostWaitsForItsFormerEnd) {
  auto first = take("/runs/digits on here of 6f1c", "a");
  auto next = take("/runs/digits on there of 6f1c", "b", [&] {
    if (waited_ > seconds(60)) return;
    EXPECT_TRUE(waited_ < seconds(60) ? first->renew() : first->release());
  });
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(waited_, seconds(60));
}

// The temporary file of a writer that was killed before its claim had its name.
TEST_P(ClaimTest, TemporaryFilesOfKilledWritersAreSwept) {
  if (GetParam()) return;  // a store has none
  auto claim = take("digits", "a");
  const auto left = folder_ / "run/claims/.c0000000001.txt.0123.tmp";
  const auto coming = folder_ / "run/claims/.c0000000003.txt.0123.tmp";
  for (const auto& path : {left, coming}) ratoon::test::write_text(path, "");
  ASSERT_TRUE(claim->renew());
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(coming)) << "one that is being written may be the next";
}

TEST_P(ClaimTest, WhoIsToldToStopWaitingStops) {
  ASSERT_TRUE(take("digits", "a"));
  SeenClaim seen;
  const auto claim =
      Claim::take(disk_, {.job = "letters", .start = "b"}, {}, clock_, [](Duration) { return false; }, seen);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace ratoon::checkpoint::claim_test
