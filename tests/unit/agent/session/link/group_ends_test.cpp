// Ranks of one group that end for good before they have called, answers that are read late, and checks that
// fail on the checking machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/src/session/locations/folder_lock.h"
#include "agent/src/session/shutdown/group_end.h"
#include "base/contract/limits.h"
#include "tests/unit/agent/session/link/group_link_fixture.h"

namespace ratoon::session::group_ends_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

using Ending = std::future<void>;

class GroupEndsTest : public GroupLinkTest {
 protected:
  static Ending end(Link& link, const std::string& why) {
    return std::async(std::launch::async, [&link, why] { link.publish_final_failure(why); });
  }
  static void expect_told(Joining joining, const std::string& words) {
    const auto assignment = joining.get();
    ASSERT_FALSE(assignment);
    EXPECT_EQ(assignment.error().kind(), ErrorKind::kInvalid) << "exit code 82";
    EXPECT_THAT(assignment.error().message(), HasSubstr(words));
  }
};

TEST_F(GroupEndsTest, ARankThatCannotJoinTellsTheOthersWhoWaitForIt) {
  const auto zero = opened(0, 3);
  const auto one = opened(1, 3);
  auto two = opened(2, 3);
  auto a = join(*zero);
  auto b = join(*one);
  wait_for_call(0, 3);
  wait_for_call(1, 3);
  end(*two, "its packs are damaged").get();
  two.reset();
  expect_told(std::move(a), "rank 2 ended for good: its packs are damaged");
  expect_told(std::move(b), "rank 2 ended for good: its packs are damaged");
}

TEST_F(GroupEndsTest, ItWaitsForAMomentUntilRankZeroCanBeTold) {
  const auto zero = opened(0);
  auto one = opened(1);
  auto ending = end(*one, "its packs are damaged");
  auto a = join(*zero);
  ending.get();
  one.reset();
  expect_told(std::move(a), "rank 1 ended for good: its packs are damaged");
}

TEST_F(GroupEndsTest, RankZeroThatCannotJoinTellsAllOthersAsTheyCome) {
  auto zero = opened(0, 3);
  const auto one = opened(1, 3);
  const auto two = opened(2, 3);
  auto b = join(*one);
  auto ending = end(*zero, "its packs are damaged");
  expect_told(std::move(b), "rank 0 forms no world: its packs are damaged");
  auto c = join(*two);
  ending.get();
  zero.reset();
  expect_told(std::move(c), "rank 0 forms no world: its packs are damaged");
}

// Another run trains in the folder, and only rank 0 checks this.
TEST_F(GroupEndsTest, WhereTheFolderIsAnothersNoRankWaitsForRankZero) {
  Options other;
  other.save_folder = folder_.path().string();
  other.run_name = "run";
  const auto held = lock_folders(other, FolderUse::kExclusive, *calls_);
  ASSERT_TRUE(held);
  const auto one = opened(1, 3);
  const auto two = opened(2, 3);
  auto b = join(*one);
  auto zero = std::async(std::launch::async, [this] { return open(0, 3); });
  auto c = join(*two);
  const auto refused = zero.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  expect_told(std::move(b), "rank 0 forms no world: " + refused.error().message());
  expect_told(std::move(c), "rank 0 forms no world: " + refused.error().message());
}

// A process of another launch, which does not end, holds its own lock.
TEST_F(GroupEndsTest, ARankThatMayNotHaveItsLockTellsTheOthers) {
  name_ = "launch-0";
  const auto left_over = opened(1, 3);
  name_ = "launch-1";
  const auto zero = opened(0, 3);
  const auto two = opened(2, 3);
  auto a = join(*zero);
  auto b = join(*two);
  wait_for_call(0, 3);
  auto patience = kPatient;
  patience.end_report_timeout = std::chrono::milliseconds(100);
  const auto refused = open(1, 3, patience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  expect_told(std::move(a), "rank 1 ended for good: " + refused.error().message());
  expect_told(std::move(b), "rank 1 ended for good: " + refused.error().message());
}

TEST_F(GroupEndsTest, ARankThatCallsAfterRankZeroHasRefusedIsTold) {
  const auto zero = opened(0, 3);
  const auto two = opened(2, 3);
  auto a = join(*zero);
  wait_for_call(0, 3);
  report_end_to_group(options_of(1, 3), calls_, "its store names no place", kPatient);
  let_links_look();
  expect_told(join(*two), "rank 1 ended for good: its store names no place");
  expect_told(std::move(a), "rank 1 ended for good: its store names no place");
}

// A launch that is started twice, with the same name: the first one goes on.
TEST_F(GroupEndsTest, ARankThatIsThereTwiceEndsNoWorld) {
  const auto zero = opened(0, 3);
  const auto one = opened(1, 3);
  const auto two = opened(2, 3);
  auto a = join(*zero);
  auto b = join(*one);
  wait_for_call(0, 3);
  wait_for_call(1, 3);
  ASSERT_FALSE(open(1, 3));
  for (const auto& file : std::filesystem::directory_iterator(run_ / "meeting" / "launch-1-of-3"))
    EXPECT_FALSE(file.path().string().ends_with(".no")) << file.path();
  auto c = join(*two);
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(1));
  EXPECT_EQ(got(std::move(b)).attempt, Attempt(1));
  EXPECT_EQ(got(std::move(c)).attempt, Attempt(1));
}

TEST_F(GroupEndsTest, ARankWithAWrongAddressTellsTheOthers) {
  const auto zero = opened(0);
  auto a = join(*zero);
  own_ip_ = "an address";
  const auto refused = open(1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("RATOON_POD_IP"));
  expect_told(std::move(a), "rank 1 ended for good: " + refused.error().message());
}

TEST_F(GroupEndsTest, ARankThatNeverHadALinkTellsTheOthers) {
  const auto zero = opened(0);
  auto a = join(*zero);
  report_end_to_group(options_of(1, 2), calls_, "its store names no place", kPatient);
  expect_told(std::move(a), "rank 1 ended for good: its store names no place");
}

TEST_F(GroupEndsTest, RankZeroThatNeverHadALinkTellsTheOthers) {
  const auto one = opened(1);
  auto b = join(*one);
  report_end_to_group(options_of(0, 2), calls_, "its store names no place", kPatient);
  expect_told(std::move(b), "rank 0 forms no world: its store names no place");
}

TEST_F(GroupEndsTest, AnEndIsToldOnceTheFolderOfTheRunIsMade) {
  std::filesystem::remove(run_);
  auto telling = std::async(std::launch::async, [this] {
    report_end_to_group(options_of(1, 2), calls_, "its store names no place", kPatient);
  });
  let_links_look();
  EXPECT_FALSE(std::filesystem::exists(run_)) << "it makes no folder";
  std::filesystem::create_directory(run_);
  const auto zero = opened(0);
  auto a = join(*zero);
  expect_told(std::move(a), "rank 1 ended for good: its store names no place");
  telling.get();
}

TEST_F(GroupEndsTest, NoRankWaitsLongForOthersToBeTold) {
  GroupTimeouts hurried = kPatient;
  hurried.end_report_timeout = milliseconds(10);
  const auto one = open(1, 2, hurried);
  ASSERT_TRUE(one);
  end(**one, "its packs are damaged").get();
}

// A fault of one start says nothing about the next.
TEST_F(GroupEndsTest, ARankThatIsStartedAnewJoinsAWorldThatWasNotTold) {
  auto zero = opened(0);
  auto one = opened(1);
  auto a = join(*zero);
  end(*one, "its packs are damaged").get();
  expect_told(std::move(a), "rank 1 ended for good");
  one.reset();
  zero.reset();
  zero = opened(0);
  one = opened(1);
  a = join(*zero);
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(1));
}

TEST_F(GroupEndsTest, AReasonOfAnyLengthIsTold) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero);
  end(*one, "packs" + std::string(contract::kMessageTextBytesMax, '.') + std::string(3000, '!')).get();
  expect_told(std::move(a), "rank 1 ended for good: packs....");
}

// Rank 0 answers, leaves and calls again before the other rank has read the answer.
TEST_F(GroupEndsTest, AnAnswerThatIsReadLateIsOfTheAttemptThatRankZeroHasLeft) {
  GroupTimeouts slow = kPatient;
  slow.check_interval = milliseconds(300);
  const auto zero = opened(0, 3);
  const auto one = open(1, 3, slow);
  const auto two = opened(2, 3);
  ASSERT_TRUE(one);
  auto b = join(**one);
  wait_for_call(1, 3);
  auto c = join(*two);
  EXPECT_EQ(got(join(*zero)).attempt, Attempt(1));
  auto a = join(*zero);
  EXPECT_EQ(got(std::move(b)).attempt, Attempt(1));
  got(std::move(c));
  wait_for_change(**one);
  wait_for_change(*two);
  b = join(**one);
  c = join(*two);
  for (Joining* joining : {&a, &b, &c}) EXPECT_EQ(got(std::move(*joining)).attempt, Attempt(2));
}

// While this object lives, the process gets no descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(GroupEndsTest, ARankThatCannotLookDeclaresNoRankDead) {
  const auto zero = opened(0);
  auto one = opened(1);
  auto a = join(*zero);
  got(join(*one));
  got(std::move(a));
  {
    const NoDescriptors none;
    let_links_look();
  }
  EXPECT_EQ(zero->world_status(), WorldStatus::kGoOn) << zero->reason();
  EXPECT_EQ(one->world_status(), WorldStatus::kGoOn) << one->reason();
  one.reset();
  wait_for_change(*zero);
  EXPECT_EQ(zero->reason(), "rank 1 is gone") << "it checks again";
}

TEST_F(GroupEndsTest, ARankThatCannotLookForLongSaysThatAndNotThatAnotherIsDead) {
  GroupTimeouts hurried = kPatient;
  hurried.local_check_timeout = milliseconds(20);
  const auto zero = open(0, 2, hurried);
  const auto one = opened(1);
  ASSERT_TRUE(zero);
  auto a = join(**zero);
  got(join(*one));
  got(std::move(a));
  {
    const NoDescriptors none;
    wait_for_change(**zero);
  }
  EXPECT_THAT((*zero)->reason(), HasSubstr("could not check"));
  EXPECT_THAT((*zero)->reason(), HasSubstr("Too many open files"));
}

TEST_F(GroupEndsTest, ARankThatCannotLookForAWhileFormsTheWorldAfterIt) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero);
  wait_for_call(0, 2);
  {
    const NoDescriptors none;
    let_links_look();
  }
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(1));
}

}  // namespace
}  // namespace ratoon::session::group_ends_test
