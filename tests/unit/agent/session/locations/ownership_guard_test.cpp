// The owner of a claim, with attempts of one job that have another rank 0, and with several of its processes
// that come at once.
#include "agent/src/session/locations/ownership_guard.h"

#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::ownership_guard_test {
namespace {

using checkpoint::ClaimTimes;
using checkpoint::Disk;
using test::DiskCall;
using test::Moment;

class OwnershipGuardTest : public testing::Test {
 protected:
  static constexpr ClaimTimes kTimes{.lease = std::chrono::seconds(30),
                                     .poll_interval = std::chrono::seconds(1)};

  static constexpr ClaimTimes kLongTimes{.lease = std::chrono::hours(1),
                                         .poll_interval = std::chrono::seconds(1)};

  // Each of its processes renews many times while a test lasts.
  static constexpr ClaimTimes kQuickTimes{.lease = std::chrono::milliseconds(400),
                                          .poll_interval = std::chrono::milliseconds(10)};

  // None of them renews a claim during a test.
  std::unique_ptr<OwnershipGuard> process(const std::string& start, const std::shared_ptr<Disk>& disk) {
    return process_of({disk}, start, kTimes);
  }
  std::unique_ptr<OwnershipGuard> process(const std::string& start) { return process(start, disk_); }
  static std::unique_ptr<OwnershipGuard> process_of(std::vector<std::shared_ptr<Disk>> places,
                                                    const std::string& start, const ClaimTimes& times) {
    return std::make_unique<OwnershipGuard>(std::move(places),
                                            checkpoint::Owner{.job = "team/digits of 6f1c", .start = start},
                                            std::make_shared<EventLog>(), times);
  }
  // With the claim of a job that may be alive.
  std::shared_ptr<Disk> place_of_another(const std::string& name) {
    std::filesystem::create_directories(folder_ / name / "claims");
    test::write_text(folder_ / name / "claims/c0000000007.txt", "");
    return *checkpoint::RealDisk::open_folder(folder_ / name);
  }
  // 0 while one claim takes the place of another.
  std::uint64_t number_of_newest() {
    const auto found = checkpoint::newest_claim(*disk_);
    return found && *found ? (*found)->number : 0;
  }
  void wait_until(const std::function<bool()>& is_so) {
    const auto began = clock_.now();
    while (!is_so() && clock_.now() - began < std::chrono::minutes(2)) std::this_thread::yield();
    EXPECT_TRUE(is_so());
  }
  void take(OwnershipGuard& process) {
    const auto taken = process.take(clock_, [](Duration) { return true; });
    EXPECT_TRUE(taken) << taken.error().message();
  }
  // As in an attempt that begins now.
  Result<void> confirm(OwnershipGuard& process) { return process.confirm(*disk_, process.term_at(*disk_)); }
  std::string owner() { return newest().owner.start; }
  checkpoint::ClaimRecord newest() { return (*checkpoint::newest_claim(*disk_)).value(); }

  test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_ = *checkpoint::RealDisk::open_folder(folder_ / "run");
  SystemClock clock_;
};

// The first process was not in the attempt between the two: it was not told to leave the places to others.
TEST_F(OwnershipGuardTest, WhoIsRank0AgainOwnsThePlacesAgain) {
  const auto a = process("a");
  const auto b = process("b");
  take(*a);
  take(*b);
  EXPECT_EQ(owner(), "b");
  take(*a);
  EXPECT_EQ(owner(), "a");
  EXPECT_FALSE(a->find_lost_reason());
}

// Another process of its job may own the place since then: the files that this process writes may be
// outdated.
TEST_F(OwnershipGuardTest, WhatWasLostOnceIsNotWrittenTo) {
  const auto a = process("a");
  const auto b = process("b");
  take(*a);
  EXPECT_TRUE(confirm(*a));
  std::filesystem::remove_all(folder_ / "run/claims");
  EXPECT_FALSE(confirm(*a));
  EXPECT_TRUE(a->find_lost_reason());
  take(*b);
  EXPECT_TRUE(confirm(*b));
  const auto confirmed = confirm(*a);
  ASSERT_FALSE(confirmed);
  EXPECT_EQ(confirmed.error().kind(), ErrorKind::kConflict);
}

TEST_F(OwnershipGuardTest, WhoIsRank0StillRenewsItsClaim) {
  const auto a = process("a");
  take(*a);
  const auto before = checkpoint::newest_claim(*disk_).value()->number;
  take(*a);
  EXPECT_EQ(owner(), "a");
  EXPECT_GT(checkpoint::newest_claim(*disk_).value()->number, before) << "the place says so, and no flag";
}

// Out of memory: a claim that is not renewed now is renewed later.
TEST_F(OwnershipGuardTest, WhatIsThrownAmidARenewalIsSaidAndTheNextOneRenews) {
  const auto trainer = std::this_thread::get_id();
  std::atomic<int> left{2};
  const auto scarce =
      std::make_shared<test::ObservedDisk>(disk_, [&, trainer](DiskCall, const std::string&, Moment) {
        if (std::this_thread::get_id() != trainer && left > 0 && left-- > 0) throw std::bad_alloc();
      });
  const auto events = std::make_shared<EventLog>();
  OwnershipGuard owner(
      {scarce}, checkpoint::Owner{.job = "team/digits of 6f1c", .start = "a"}, events,
      {.lease = std::chrono::milliseconds(40), .poll_interval = std::chrono::milliseconds(10)});
  take(owner);
  // A check may fall between two claims.
  while (left > 0) std::this_thread::yield();
  const auto number = [&] {
    const auto found = checkpoint::newest_claim(*disk_);
    return found && *found ? (*found)->number : 0;
  };
  const auto first = number();
  while (number() <= first) std::this_thread::yield();
  std::vector<std::string> said;
  events->move_to(said);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "this run's claim is not renewed for now: std::bad_alloc");
  EXPECT_FALSE(owner.find_lost_reason());
}

TEST_F(OwnershipGuardTest, ManyThatSeeNoClaimEnterByOne) {
  constexpr int kProcesses = 120;  // more than races that one of them may lose
  std::latch have_looked(kProcesses);
  std::vector<std::unique_ptr<OwnershipGuard>> processes;
  for (int i = 0; i < kProcesses; ++i) {
    auto disk = std::make_shared<test::ObservedDisk>(
        disk_, [&, has_looked = false](DiskCall call, const std::string&, Moment moment) mutable {
          if (call != DiskCall::kList || moment != Moment::kAfter || std::exchange(has_looked, true)) return;
          have_looked.arrive_and_wait();
        });
    processes.push_back(process_of({disk}, "start-" + std::to_string(i), kLongTimes));
  }
  std::atomic<int> entered{0};
  {
    std::vector<std::jthread> threads;
    for (auto& one : processes) {
      threads.emplace_back([&] {
        const auto done = one->enter(clock_, [](Duration) { return false; });
        EXPECT_TRUE(done) << done.error().message();
        if (done) ++entered;
      });
    }
  }
  EXPECT_EQ(entered, kProcesses);
  EXPECT_EQ(newest().number, 1u) << "one claim is enough for all";
}

// A pod that comes late watches a damaged claim; meanwhile its job begins without this pod.
TEST_F(OwnershipGuardTest, OneThatWatchesLeavesTheClaimOfItsJobAlone) {
  std::filesystem::create_directories(folder_ / "run/claims");
  test::write_text(folder_ / "run/claims/c0000000007.txt", "");
  const auto late = process("late", disk_);
  const auto first = process("first", disk_);
  int looks = 0;
  const auto entered = late->enter(clock_, [&](Duration) {
    if (++looks > 1) return false;
    std::filesystem::remove(folder_ / "run/claims/c0000000007.txt");
    return static_cast<bool>(first->take(clock_, [](Duration) { return false; }));
  });
  ASSERT_TRUE(entered) << entered.error().message();
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(newest().owner.start, "first") << "the writer of the job goes on";
}

// A process that only entered leaves the check of the claim's owner to the writer.
TEST_F(OwnershipGuardTest, AWriterThatEnteredBeforeHearsThatItsClaimIsTaken) {
  OwnershipGuard writer(
      {disk_}, checkpoint::Owner{.job = "team/digits of 6f1c", .start = "a"}, std::make_shared<EventLog>(),
      {.lease = std::chrono::milliseconds(40), .poll_interval = std::chrono::milliseconds(10)});
  ASSERT_TRUE(writer.enter(clock_, [](Duration) { return false; }));
  take(writer);
  test::write_text(folder_ / "run/claims/c0000009999.txt", "");
  const auto began = clock_.now();
  while (!writer.find_lost_reason() && clock_.now() - began < std::chrono::seconds(30))
    std::this_thread::yield();
  EXPECT_TRUE(writer.find_lost_reason());
}

TEST_F(OwnershipGuardTest, TheWriterOfAJobTakesOverFromOneThatEntered) {
  const auto other = process("other", disk_);
  const auto writer = process("writer", disk_);
  for (const auto& one : {other.get(), writer.get()})
    ASSERT_TRUE(one->enter(clock_, [](Duration) { return false; }));
  EXPECT_EQ(newest().owner.start, "other");
  ASSERT_TRUE(writer->take(clock_, [](Duration) { return false; }));
  EXPECT_EQ(newest().owner.start, "writer");
  EXPECT_FALSE(other->find_lost_reason());
}

TEST_F(OwnershipGuardTest, AClaimIsRenewedWhileAnotherPlaceIsWaitedFor) {
  const auto other = place_of_another("other");
  const auto owner = process_of({disk_, other}, "a", kTimes);
  ManualClock clock;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const auto taken = owner->take(clock, [&](Duration look) {
    clock.advance(look);
    last = newest().number;
    if (first == 0) first = last;
    return clock.now() < Timestamp(std::chrono::seconds(25));
  });
  EXPECT_FALSE(taken);
  EXPECT_GE(last, first + 2) << "four times in a lease";
}

// The world changed while its rank 0 waited for a place: the next attempt waits on.
TEST_F(OwnershipGuardTest, AWaitThatIsCutShortLeavesTheJobWhatWasClaimed) {
  const auto other = place_of_another("other");
  const auto owner = process_of({disk_, other}, "a", kQuickTimes);
  EXPECT_EQ(owner->take(clock_, [](Duration) { return false; }).error().kind(), ErrorKind::kCancelled);
  const auto left = newest();
  EXPECT_FALSE(left.is_released);
  EXPECT_EQ(left.owner.start, "a");
  wait_until([&] { return number_of_newest() >= left.number + 2; });
  ASSERT_TRUE(other->remove("claims/c0000000007.txt"));
  take(*owner);
  owner->release();
  EXPECT_TRUE(newest().is_released);
}

TEST_F(OwnershipGuardTest, AJobThatIsRefusedGivesBackWhatItClaimed) {
  const auto other = place_of_another("other");
  const auto owner = process_of({disk_, other}, "a", kTimes);
  const auto taken = owner->take(clock_, [&](Duration) {
    test::write_text(folder_ / "other/claims/c0000000008.txt", "");
    return true;
  });
  EXPECT_EQ(taken.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_TRUE(newest().is_released);
}

// As processes of the job come at once, each may find one place without a claim.
TEST_F(OwnershipGuardTest, OneThatEnteredAndLosesAPlaceToItsJobRenewsTheOther) {
  const std::shared_ptr<Disk> other = *checkpoint::RealDisk::open_folder(folder_ / "other");
  const auto entered = process_of({disk_, other}, "entered", kQuickTimes);
  ASSERT_TRUE(entered->enter(clock_, [](Duration) { return false; }));
  const auto writer = process("writer", other);
  take(*writer);
  const auto last = number_of_newest();
  wait_until([&] { return number_of_newest() >= last + 4; });
  EXPECT_EQ(owner(), "entered");
  EXPECT_EQ((*checkpoint::newest_claim(*other))->owner.start, "writer");
  EXPECT_FALSE(entered->find_lost_reason());
}

// Rank 0 is lost, and its successor may take any time.
TEST_F(OwnershipGuardTest, OneThatWaitsForAWorldKeepsTheClaimOfALostOwnerAlive) {
  take(*process("lost"));
  const auto lost = newest().number;
  const auto waiting = process_of({disk_}, "waits", kQuickTimes);
  waiting->begin_waiting();
  wait_until([&] { return number_of_newest() >= lost + 4; });
  EXPECT_EQ(owner(), "lost") << "its successor takes it over at once";
  const auto successor = process("successor");
  take(*successor);
  EXPECT_EQ(owner(), "successor");
  ASSERT_TRUE(waiting->leave_claims_to_others());
  EXPECT_FALSE(waiting->find_lost_reason());
  EXPECT_TRUE(confirm(*successor));
}

// As when the attempt goes on without the process that waits, and its store answers after 20 s.
TEST_F(OwnershipGuardTest, AnOwnerThatIsSlowIsNotDisplacedByOneThatWaits) {
  const auto slow = process("slow");
  take(*slow);
  const auto first = newest().number;
  std::atomic<int> looks{0};
  const auto watched =
      std::make_shared<test::ObservedDisk>(disk_, [&](DiskCall call, const std::string&, Moment moment) {
        looks += call == DiskCall::kList && moment == Moment::kBefore ? 1 : 0;
      });
  const auto waiting = process_of({watched}, "waits", kQuickTimes);
  waiting->begin_waiting();
  wait_until([&] { return number_of_newest() >= first + 3; });
  take(*slow);
  EXPECT_FALSE(slow->find_lost_reason());
  EXPECT_EQ(owner(), "slow");
  slow->release();
  const auto released = newest();
  EXPECT_TRUE(released.is_released);
  looks = 0;
  wait_until([&] { return looks > 8; });
  EXPECT_EQ(newest(), released) << "what the job gave back is no longer kept alive";
}

// It is asked to leave the claims to others while a place answers late.
TEST_F(OwnershipGuardTest, OneThatNoLongerWaitsKeepsNothingAlive) {
  take(*process("lost"));
  const auto before = newest();
  std::latch is_asked(1);
  std::latch may_answer(1);
  std::atomic<bool> has_answered{false};
  const auto trainer = std::this_thread::get_id();
  const auto late =
      std::make_shared<test::ObservedDisk>(disk_, [&](DiskCall call, const std::string&, Moment moment) {
        if (std::this_thread::get_id() == trainer) return;
        if (call != DiskCall::kOpen || moment != Moment::kAfter || has_answered) return;
        is_asked.count_down();
        may_answer.wait();
        has_answered = true;
      });
  auto waiting = process_of({late}, "waits", kQuickTimes);
  waiting->begin_waiting();
  is_asked.wait();
  ASSERT_TRUE(waiting->leave_claims_to_others());
  may_answer.count_down();
  waiting.reset();
  EXPECT_TRUE(has_answered);
  EXPECT_EQ(newest(), before);
}

// The list of a process that slept for longer than a lease, while the other job saved and ended, is outdated.
TEST_F(OwnershipGuardTest, APlaceThatWasAnotherJobsSinceItWasListedIsSaid) {
  const auto here = process("a");
  const auto go_on = [](Duration) { return true; };
  ASSERT_TRUE(here->enter(clock_, go_on));
  ManualClock of_other;
  checkpoint::SeenClaim seen;
  auto other = checkpoint::Claim::take(
      disk_, {.job = "team/letters of 0a2b", .start = "o"}, kTimes, of_other,
      [&](Duration look) {
        of_other.advance(look);
        return true;
      },
      seen);
  ASSERT_TRUE(other && other->follows_another_job());
  ASSERT_TRUE(other->release());
  take(*here);
  EXPECT_TRUE(here->took_from_another_job());
  take(*here);
  EXPECT_FALSE(here->took_from_another_job()) << "it has listed again, and the place is its own";
  const auto mate = process("b");
  take(*mate);
  EXPECT_FALSE(mate->took_from_another_job()) << "of one job";
}

}  // namespace
}  // namespace ratoon::session::ownership_guard_test
