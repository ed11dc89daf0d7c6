// Attempts that began before another job used the place, and what their processes still may do.
#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/session/locations/ownership_guard.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::ownership_terms_test {
namespace {

using checkpoint::Disk;

class OwnershipTermsTest : public testing::Test {
 protected:
  // No process renews a claim during a test.
  static std::unique_ptr<OwnershipGuard> process(const std::string& start, std::shared_ptr<Disk> disk) {
    return std::make_unique<OwnershipGuard>(
        std::vector{std::move(disk)}, checkpoint::Owner{.job = "team/digits of 6f1c", .start = start},
        std::make_shared<EventLog>(), checkpoint::ClaimTimes{.lease = std::chrono::hours(1)});
  }
  std::unique_ptr<OwnershipGuard> process(const std::string& start) { return process(start, disk_); }
  checkpoint::Claim::PauseFunction pause() {
    return [this](Duration look) {
      clock_.advance(look);
      return true;
    };
  }
  void take(OwnershipGuard& process) {
    const auto taken = process.take(clock_, pause());
    EXPECT_TRUE(taken) << taken.error().message();
  }
  // The claim of another job, which waits until the lease of the job is over.
  checkpoint::Claim take_by_another() {
    checkpoint::SeenClaim seen;
    return checkpoint::Claim::take(disk_, {.job = "team/letters of 0a2b", .start = "o"}, {}, clock_, pause(),
                                   seen)
        .value();
  }
  void another_job_comes_and_goes() { EXPECT_TRUE(take_by_another().release()); }
  static bool is_conflict(const Result<void>& confirmed) {
    return !confirmed && confirmed.error().kind() == ErrorKind::kConflict;
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_ = *checkpoint::RealDisk::open_folder(folder_ / "run");
  ManualClock clock_;
};

TEST_F(OwnershipTermsTest, AnAttemptFromBeforeAnotherJobConfirmsNothingAlthoughItsJobHasThePlaceAgain) {
  const auto rank0 = process("a");
  const auto rank1 = process("b");
  take(*rank0);
  ASSERT_TRUE(rank1->leave_claims_to_others());
  const auto term = rank0->term_at(*disk_);
  EXPECT_EQ(rank1->term_at(*disk_), term);
  EXPECT_TRUE(rank0->confirm(*disk_, term));
  EXPECT_TRUE(rank1->confirm(*disk_, term));
  another_job_comes_and_goes();
  const auto next = process("c");
  take(*next);
  EXPECT_TRUE(is_conflict(rank1->confirm(*disk_, term)));
  EXPECT_TRUE(is_conflict(rank0->confirm(*disk_, term)));
  EXPECT_TRUE(rank0->find_lost_reason()) << "another process of its job owns the place";
  ASSERT_TRUE(rank1->leave_claims_to_others());
  EXPECT_EQ(rank1->term_at(*disk_), next->term_at(*disk_)) << "in the next attempt";
  EXPECT_TRUE(rank1->confirm(*disk_, rank1->term_at(*disk_)));
}

// A commit of the attempt before may still hang on the disk when the process has claimed the place again.
TEST_F(OwnershipTermsTest, ALateCallOfTheAttemptBeforeDoesNotEndTheClaimOfTheNextOne) {
  const auto rank0 = process("a");
  take(*rank0);
  const auto before = rank0->term_at(*disk_);
  another_job_comes_and_goes();
  take(*rank0);
  EXPECT_TRUE(is_conflict(rank0->confirm(*disk_, before)));
  EXPECT_FALSE(rank0->find_lost_reason());
  EXPECT_TRUE(rank0->confirm(*disk_, rank0->term_at(*disk_)));
  EXPECT_TRUE(rank0->confirm_all_locations());
}

// The other process of the job may have entered while rank 0 slept with its list.
TEST_F(OwnershipTermsTest, APlaceThatAnotherProcessOfTheJobTookFromAnotherJobIsSaid) {
  const auto rank0 = process("a");
  ASSERT_TRUE(rank0->enter(clock_, pause()));
  another_job_comes_and_goes();
  const auto entered = process("b");
  ASSERT_TRUE(entered->enter(clock_, pause()));
  take(*rank0);
  EXPECT_TRUE(rank0->took_from_another_job());
  const auto next = process("c");
  ASSERT_TRUE(next->enter(clock_, pause()));
  take(*next);
  EXPECT_FALSE(next->took_from_another_job()) << "it has entered since then";
}

// A process that enters while another process of its job holds the claim knows the term only from that claim.
TEST_F(OwnershipTermsTest, AProcessThatEnteredBesideTheOwnerNoticesThatAnotherJobUsedThePlaceSince) {
  const auto owner = process("a");
  ASSERT_TRUE(owner->enter(clock_, pause()));
  const auto beside = process("b");
  ASSERT_TRUE(beside->enter(clock_, pause()));
  EXPECT_EQ(beside->term_at(*disk_), owner->term_at(*disk_));
  another_job_comes_and_goes();
  const auto next = process("c");
  ASSERT_TRUE(next->enter(clock_, pause()));
  take(*beside);
  EXPECT_TRUE(beside->took_from_another_job());
}

TEST_F(OwnershipTermsTest, AnAttemptThatBeginsWhileThePlaceIsAnothersConfirmsNothing) {
  const auto rank1 = process("b");
  auto other = take_by_another();
  ASSERT_TRUE(rank1->leave_claims_to_others());
  ASSERT_TRUE(other.release());
  take(*process("c"));
  EXPECT_TRUE(is_conflict(rank1->confirm(*disk_, rank1->term_at(*disk_))));
  EXPECT_TRUE(is_conflict(rank1->confirm_all_locations()));
}

TEST_F(OwnershipTermsTest, ATermThatIsKnownStaysWhenThePlaceDoesNotAnswer) {
  take(*process("a"));
  bool is_down = true;
  class Down : public test::ObservedDisk {
   public:
    Down(std::shared_ptr<Disk> disk, const bool& is_down)
        : ObservedDisk(std::move(disk), [](test::DiskCall, const std::string&, test::Moment) {}),
          is_down_(is_down) {}
    Result<std::vector<checkpoint::DiskEntry>> list(const std::string& path) const override {
      if (is_down_) return Error(ErrorKind::kUnavailable, "the disk does not answer");
      return ObservedDisk::list(path);
    }

   private:
    const bool& is_down_;
  };
  const auto disk = std::make_shared<Down>(disk_, is_down);
  const auto rank1 = process("b", disk);
  const auto left = rank1->leave_claims_to_others();
  ASSERT_FALSE(left) << "nothing is known";
  EXPECT_EQ(left.error().kind(), ErrorKind::kUnavailable);
  is_down = false;
  ASSERT_TRUE(rank1->leave_claims_to_others());
  is_down = true;
  ASSERT_TRUE(rank1->leave_claims_to_others());
  is_down = false;
  EXPECT_TRUE(rank1->confirm(*disk, rank1->term_at(*disk)));
}

}  // namespace
}  // namespace ratoon::session::ownership_terms_test
