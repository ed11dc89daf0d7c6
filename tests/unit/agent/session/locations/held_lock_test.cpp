// The duration of a wait for a held lock, and the exit code with which the wait ends.
#include "agent/src/session/locations/held_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/contract/exit_code.h"
#include "base/core/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::held_lock_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr LockTimeouts kUsual{};
const HolderActivity kUnknown{};

TEST(HeldLock, OfAProcessOfThisMachineIsRefusedAtOnce) {
  EXPECT_EQ(judge_held_lock(true, seconds(0), kUsual, kUnknown), LockVerdict::kIsInUse);
}

TEST(HeldLock, OfAProcessThatEndsIsWaitedForAsLongAsACallerSays) {
  const LockTimeouts patience{.leaving = seconds(10)};
  EXPECT_EQ(judge_held_lock(true, seconds(9), patience, kUnknown), LockVerdict::kWait);
  EXPECT_EQ(judge_held_lock(true, seconds(10), patience, kUnknown), LockVerdict::kIsInUse);
}

TEST(HeldLock, OfAnotherMachineIsWaitedForLongerThanALeaseOfNfs4) {
  EXPECT_EQ(judge_held_lock(false, seconds(0), kUsual, kUnknown), LockVerdict::kWait);
  EXPECT_EQ(judge_held_lock(false, seconds(95), kUsual, kUnknown), LockVerdict::kWait);
  EXPECT_EQ(judge_held_lock(false, seconds(100), kUsual, kUnknown), LockVerdict::kHolderMayBeGone);
}

TEST(HeldLock, OfAnotherMachineThatShowsLifeIsInUse) {
  EXPECT_EQ(judge_held_lock(false, seconds(100), kUsual, {.first_sign = "10", .now = "20"}),
            LockVerdict::kIsInUse);
  EXPECT_EQ(judge_held_lock(false, seconds(100), kUsual, {.first_sign = "10", .now = "10"}),
            LockVerdict::kHolderMayBeGone);
  EXPECT_EQ(judge_held_lock(false, seconds(99), kUsual, {.first_sign = "10", .now = "20"}),
            LockVerdict::kWait);
}

TEST(HeldLock, NamesTheMachineThatTookItLast) {
  const test::TemporaryFolder folder;
  const UniqueFd file(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  EXPECT_FALSE(was_taken_here(file.get(), "one"));
  write_holder(file.get(), "one-that-is-longer");
  EXPECT_TRUE(was_taken_here(file.get(), "one-that-is-longer"));
  write_holder(file.get(), "one");
  EXPECT_TRUE(was_taken_here(file.get(), "one"));
  EXPECT_FALSE(was_taken_here(file.get(), "two"));
  write_holder(file.get(), "");
  EXPECT_TRUE(was_taken_here(file.get(), "one")) << "a machine without a boot_id says nothing";
  EXPECT_FALSE(was_taken_here(file.get(), "")) << "and knows nothing";
}

// A clock that a wait reads, and a lock that is held until the test releases it.
class HeldLockWait : public testing::Test {
 protected:
  // Each check of the holder costs a second.
  Result<int> wait(const LockWaitOptions& how) {
    return take_when_free(
        [this]() -> Result<int> {
          clock_.advance(seconds(1));
          ++tries_;
          if (tries_ == free_after_) return 7;
          return Error(holder_, "another process trains in /runs/a");
        },
        [this] { return life_ ? std::to_string(tries_) : std::string(); }, how, clock_);
  }
  static LockWaitOptions hurried() {
    LockWaitOptions how;
    how.patience.check_interval = milliseconds(0);
    return how;
  }

  ManualClock clock_;
  int tries_ = 0;
  int free_after_ = -1;
  bool life_ = false;
  ErrorKind holder_ = ErrorKind::kConflict;
};

TEST_F(HeldLockWait, EndsOnceTheServerHasFreedTheLock) {
  free_after_ = 92;
  const auto lock = wait(hurried());
  ASSERT_TRUE(lock) << lock.error().message();
  EXPECT_EQ(*lock, 7);
}

TEST_F(HeldLockWait, SaysAfterTenSecondsWhatItWaitsFor) {
  testing::internal::CaptureStderr();
  free_after_ = 9;
  ASSERT_TRUE(wait(hurried()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  tries_ = 0;
  free_after_ = 50;
  testing::internal::CaptureStderr();
  ASSERT_TRUE(wait(hurried()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ratoon: another process trains in /runs/a; this process waits for that lock\n");
}

TEST_F(HeldLockWait, EndsWith84WhereItsHolderIsSilent) {
  const auto lock = wait(hurried());
  ASSERT_FALSE(lock);
  EXPECT_EQ(exit_code_of(lock.error().kind()), ExitCode::kStorage);
  EXPECT_THAT(lock.error().message(), testing::HasSubstr("has shown no sign of life for 100 s"));
}

TEST_F(HeldLockWait, EndsWith82WhereItsHolderWorks) {
  life_ = true;
  const auto lock = wait(hurried());
  ASSERT_FALSE(lock);
  EXPECT_EQ(exit_code_of(lock.error().kind()), ExitCode::kConfiguration);
  EXPECT_EQ(lock.error().message(), "another process trains in /runs/a");
}

TEST_F(HeldLockWait, EndsAtOnceWhereTheHolderIsOnThisMachine) {
  holder_ = ErrorKind::kAlreadyExists;
  const auto lock = wait(hurried());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(tries_, 1);
}

TEST_F(HeldLockWait, EndsWhereThisProcessIsToldToLeave) {
  auto how = hurried();
  how.goes_on = [this] { return tries_ < 5; };
  const auto lock = wait(how);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(tries_, 5);
}

TEST_F(HeldLockWait, IsNoneWhereTheErrorIsAnother) {
  holder_ = ErrorKind::kIo;
  const auto lock = wait(hurried());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind(), ErrorKind::kIo);
  EXPECT_EQ(tries_, 1);
}

}  // namespace
}  // namespace ratoon::session::held_lock_test
