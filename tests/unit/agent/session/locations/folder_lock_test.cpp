// Folders that no two runs may share, and folders of stores that cannot be locked: training goes on, and a
// warning is printed.
#include "agent/src/session/locations/folder_lock.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::session::folder_lock_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FolderLock : public testing::Test {
 protected:
  FolderLock() {
    options_.save_folder = (folder_ / "home").string();
    options_.run_name = "run";
    std::filesystem::create_directories(folder_ / "home/run");
  }
  void keep_copies_in(const std::string& store) {
    options_.stores = {"file://" + (folder_ / store).string()};
  }
  Result<FolderLocks> lock(FolderUse use = FolderUse::kShared, const LockWaitOptions& waiting = {}) {
    checkpoint::CallsWithTimeout calls(std::chrono::minutes(5), std::make_shared<SystemClock>());
    testing::internal::CaptureStderr();
    auto locks = lock_folders(options_, use, calls, waiting);
    said_ = testing::internal::GetCapturedStderr();
    return locks;
  }

  test::TemporaryFolder folder_;
  Options options_;
  std::string said_;
};

TEST_F(FolderLock, OfAStoreIsTakenInSilence) {
  keep_copies_in("store");
  const auto locks = lock();
  ASSERT_TRUE(locks);
  EXPECT_EQ(locks->size(), 2u);
  EXPECT_EQ(said_, "");
}

// A process that can open the file can lock it.
TEST_F(FolderLock, NoOtherUserCanOpenALock) {
  keep_copies_in("store");
  ASSERT_TRUE(lock());
  for (const char* folder : {"home/run", "store/run"}) {
    const auto mode = std::filesystem::status(folder_ / folder / "lock").permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write) << folder;
  }
}

// This also holds if a file system is read-only, or has no locks.
TEST_F(FolderLock, OfAStoreThatCannotBeTakenIsSaid) {
  test::write_text(folder_ / "store", "a file, and no folder");
  keep_copies_in("store");
  const auto locks = lock();
  ASSERT_TRUE(locks) << locks.error().message();
  EXPECT_EQ(locks->size(), 1u) << "its home's";
  EXPECT_THAT(said_, AllOf(HasSubstr("ratoon: warning: the folder " + (folder_ / "store/run").string()),
                           HasSubstr("cannot be locked: opening "), HasSubstr("Not a directory"),
                           HasSubstr("do not use that folder for other runs")));
}

TEST_F(FolderLock, IsSaidOnceForAllProcessesOfAMachine) {
  test::write_text(folder_ / "store", "a file, and no folder");
  keep_copies_in("store");
  options_.member.local_rank = 1;
  ASSERT_TRUE(lock());
  EXPECT_EQ(said_, "");
}

TEST_F(FolderLock, OfTheRunItselfIsNeverGoneWithout) {
  std::filesystem::create_directories(folder_ / "home/run/lock");
  const auto locks = lock(FolderUse::kExclusive);
  ASSERT_FALSE(locks);
  EXPECT_THAT(locks.error().message(), HasSubstr((folder_ / "home/run/lock").string()));
}

TEST_F(FolderLock, OfAStoreInWhichAnotherTrainsAloneIsRefused) {
  keep_copies_in("store");
  Options other = options_;
  other.stores.clear();
  other.save_folder = (folder_ / "store").string();
  std::filesystem::create_directories(folder_ / "store/run");
  std::swap(other, options_);
  const auto held = lock(FolderUse::kExclusive);
  ASSERT_TRUE(held);
  std::swap(other, options_);
  const auto refused = lock();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_THAT(refused.error().message(), HasSubstr("another process trains in"));
}

TEST_F(FolderLock, OfAProcessOfThisMachineIsRefusedAtOnce) {
  const auto held = lock(FolderUse::kExclusive);
  ASSERT_TRUE(held);
  const auto began = std::chrono::steady_clock::now();
  const auto refused = lock(FolderUse::kExclusive);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists) << "exit code 82";
  EXPECT_LT(std::chrono::steady_clock::now() - began, LockTimeouts().lease);
}

// The lock as a file server holds it while the lease of a dead machine has not passed.
class LockFromElsewhere : public FolderLock {
 protected:
  LockFromElsewhere() {
    held_ = lock(FolderUse::kExclusive);
    test::write_text(folder_ / "home/run/lock", "taken on the machine with boot_id another\n");
    waiting_.patience.check_interval = std::chrono::milliseconds(1);
    waiting_.patience.cache_time = std::chrono::milliseconds(0);
    waiting_.patience.lease = std::chrono::milliseconds(50);
  }

  Result<FolderLocks> held_ = FolderLocks();
  LockWaitOptions waiting_;
};

TEST_F(LockFromElsewhere, IsTakenOnceItIsFree) {
  ASSERT_TRUE(held_);
  waiting_.patience.lease = std::chrono::hours(1);
  int looks = 0;
  waiting_.goes_on = [&] {
    if (++looks == 3) held_ = FolderLocks();
    return true;
  };
  const auto lock = this->lock(FolderUse::kExclusive, waiting_);
  ASSERT_TRUE(lock) << lock.error().message();
  EXPECT_EQ(looks, 3);
}

TEST_F(LockFromElsewhere, MayPassWhereNothingIsSeenOfItsHolder) {
  const auto refused = lock(FolderUse::kShared, waiting_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable) << "exit code 84";
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("another process trains in"), HasSubstr("has shown no sign of life")));
}

TEST_F(LockFromElsewhere, IsInUseWhereItsHolderCommits) {
  std::filesystem::create_directories(folder_ / "home/run/manifests");
  waiting_.patience.lease = std::chrono::seconds(2);  // longer than the first look takes
  int looks = 0;
  waiting_.goes_on = [&] {
    test::write_text(folder_ / "home/run/manifests" / std::to_string(++looks), "");
    return true;
  };
  const auto refused = lock(FolderUse::kExclusive, waiting_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists) << "exit code 82";
}

TEST_F(LockFromElsewhere, OfAStoreIsWaitedForAsThatOfTheRun) {
  keep_copies_in("home");
  options_.save_folder = (folder_ / "own").string();
  std::filesystem::create_directories(folder_ / "own/run");
  const auto refused = lock(FolderUse::kShared, waiting_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace ratoon::session::folder_lock_test
