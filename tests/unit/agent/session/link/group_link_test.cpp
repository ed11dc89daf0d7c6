// Ranks of one group in one process: each has a link of its own, as if a launcher had started it.
#include "agent/src/session/link/group_link.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/contract/exit_code.h"
#include "tests/support/builders.h"
#include "tests/support/held_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/session/link/group_link_fixture.h"

namespace ratoon::session::group_link_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(GroupLinkTest, AllGetOneWorldWhoeverComesFirst) {
  for (const bool is_first_rank_first : {true, false}) {
    name_ += "x";
    const auto first = opened(is_first_rank_first ? 0 : 1);
    first->set_thread_count(is_first_rank_first ? 4 : 8);
    auto a = join(*first);
    const auto second = opened(is_first_rank_first ? 1 : 0);
    second->set_thread_count(is_first_rank_first ? 8 : 4);
    auto b = join(*second);
    Assignment of[2];
    of[is_first_rank_first ? 0 : 1] = got(std::move(a));
    of[is_first_rank_first ? 1 : 0] = got(std::move(b));
    const Link& rank_0 = is_first_rank_first ? *first : *second;
    for (const std::uint32_t rank : {0u, 1u}) {
      EXPECT_EQ(of[rank].rank, Rank(rank));
      EXPECT_EQ(of[rank].attempt, Attempt(1));
      EXPECT_EQ(of[rank].world_size, 2u);
      EXPECT_EQ(of[rank].rendezvous, of[0].rendezvous);
      EXPECT_EQ(of[rank].threads, 4u) << "those of rank 0";
      EXPECT_FALSE(of[rank].resume);
    }
    EXPECT_EQ(split_address(of[0].rendezvous).host, rank_0.own_host());
  }
}

TEST_F(GroupLinkTest, TheNewestCheckpointThatAllCanReadIsResumedInANewAttempt) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero, {test::checkpoint(3, 40), test::checkpoint(3, 20)}, Attempt(3));
  auto b = join(*one, {test::checkpoint(3, 40, "volume", false), test::checkpoint(3, 20)}, Attempt(4));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(5));
  EXPECT_EQ(got(std::move(b)).resume, test::resume_point(3, 20));
}

TEST_F(GroupLinkTest, WhereNoneCanBeReadByAllNothingIsStartedOver) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto b = join(*one, {test::checkpoint(3, 40, "volume", false)}, Attempt(3));
  const auto refused = join(*zero, {test::checkpoint(3, 40)}, Attempt(3)).get();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("no checkpoint can be read by all ranks"));
  const auto told = b.get();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message(), "rank 0 forms no world: " + refused.error().message());
}

TEST_F(GroupLinkTest, ALostRankEndsTheAttemptForAllAndItsSuccessorJoinsTheNext) {
  const auto zero = opened(0, 3);
  auto one = opened(1, 3);
  const auto two = opened(2, 3);
  auto joins = {join(*zero), join(*one), join(*two)};
  for (const auto& joining : joins) joining.wait();
  EXPECT_EQ(zero->world_status(), WorldStatus::kGoOn);
  one.reset();
  wait_for_change(*zero);
  wait_for_change(*two);
  EXPECT_EQ(zero->reason(), "rank 1 is gone");
  EXPECT_EQ(two->reason(), "rank 1 is gone");
  one = opened(1, 3);
  auto a = join(*zero);
  auto b = join(*one);
  auto c = join(*two);
  for (Joining* joining : {&a, &b, &c}) EXPECT_EQ(got(std::move(*joining)).attempt, Attempt(2));
  EXPECT_EQ(two->world_status(), WorldStatus::kGoOn);
}

TEST_F(GroupLinkTest, WhereRankZeroIsLostTheOthersWaitForItsSuccessor) {
  auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero);
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  a.wait();
  zero.reset();
  wait_for_change(*one);
  EXPECT_EQ(one->reason(), "rank 0 is gone");
  auto b = join(*one, {}, Attempt(1));
  zero = opened(0);
  EXPECT_EQ(got(join(*zero, {}, Attempt(1))).attempt, Attempt(2));
  EXPECT_EQ(got(std::move(b)).attempt, Attempt(2));
}

// --autoresume false: the run's checkpoints are not of this launch.
TEST_F(GroupLinkTest, AWorldThatIsNotToResumeIsRefusedToAllUnlessOneOfThemWasInOne) {
  auto zero = opened(0);
  auto one = opened(1);
  zero->form_no_new_world("there are checkpoints");
  auto b = join(*one, {test::checkpoint(3, 40)}, Attempt(3));
  const auto refused = join(*zero, {test::checkpoint(3, 40)}, Attempt(3)).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "there are checkpoints");
  EXPECT_EQ(b.get().error().message(), "rank 0 forms no world: there are checkpoints");

  zero.reset();
  one.reset();  // who is refused ends, and its call with it
  one = opened(1);
  zero = opened(0);
  auto a = join(*zero);
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  a.wait();
  zero.reset();
  wait_for_change(*one);
  b = join(*one, {test::checkpoint(1, 40)}, Attempt(1));
  zero = opened(0);
  zero->form_no_new_world("there are checkpoints");
  EXPECT_EQ(got(join(*zero, {test::checkpoint(1, 40)}, Attempt(1))).resume, test::resume_point(1, 40))
      << "its launcher started rank 0 again";
  EXPECT_EQ(got(std::move(b)).attempt, Attempt(2));
}

// A wrong program stays wrong: no rank waits ten minutes for it.
TEST_F(GroupLinkTest, WhoEndsForGoodIsNotWaitedFor) {
  for (const std::uint32_t ended : {0U, 2U}) {
    name_ += "x";
    std::vector<std::unique_ptr<Link>> links;
    std::vector<Joining> joinings;
    for (std::uint32_t rank = 0; rank < 3; ++rank) links.push_back(opened(rank, 3));
    for (const auto& link : links) joinings.push_back(join(*link));
    for (Joining& joining : joinings) got(std::move(joining));
    links[ended]->publish_final_failure("tensor 'net.bias' has another shape");
    links[ended].reset();
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (rank == ended) continue;
      wait_for_change(*links[rank]);
      joinings[rank] = join(*links[rank]);
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (rank == ended) continue;
      const auto assignment = joinings[rank].get();
      ASSERT_FALSE(assignment);
      EXPECT_EQ(assignment.error().kind(), ErrorKind::kInvalid);
      EXPECT_THAT(assignment.error().message(),
                  HasSubstr("rank " + std::to_string(ended) + " ended for good: tensor 'net"));
    }
    links.clear();

    // A rank that is started anew, after the fault was corrected, does not get the old reason.
    const auto first = opened(0, 2);
    const auto second = opened(1, 2);
    auto a = join(*first);
    auto b = join(*second);
    got(std::move(a));
    got(std::move(b));
  }
}

// Rank 0 may know of the change and be gone before another rank has left its step.
TEST_F(GroupLinkTest, WhoCallsAfterRankZeroGaveUpIsToldToo) {
  std::vector<std::unique_ptr<Link>> links;
  std::vector<Joining> joinings;
  for (std::uint32_t rank = 0; rank < 3; ++rank) links.push_back(opened(rank, 3));
  for (const auto& link : links) joinings.push_back(join(*link));
  for (Joining& joining : joinings) got(std::move(joining));
  links[2]->publish_final_failure("tensor 'net.bias' has another shape");
  links[2].reset();
  wait_for_change(*links[0]);
  ASSERT_FALSE(join(*links[0]).get());
  links[0].reset();
  const auto told = join(*links[1]).get();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("rank 2 ended for good: tensor 'net"));
}

// Its successor may exist before any rank has checked.
TEST_F(GroupLinkTest, ARankZeroThatWasReplacedAtOnceIsNoticedToo) {
  GroupTimeouts slow = kPatient;
  slow.check_interval = milliseconds(200);
  auto zero = opened(0);
  const auto one = open(1, 2, slow);
  ASSERT_TRUE(one);
  auto b = join(**one);
  EXPECT_EQ(got(join(*zero)).attempt, Attempt(1));
  b.wait();
  zero.reset();
  zero = opened(0);
  auto a = join(*zero, {}, Attempt(1));
  wait_for_change(**one);
  EXPECT_EQ(got(join(**one)).attempt, Attempt(2));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(2));
}

TEST_F(GroupLinkTest, WhoLeavesTheAttemptByItselfTakesTheOthersAlong) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero);
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  a.wait();
  auto b = join(*one);
  wait_for_change(*zero);
  EXPECT_EQ(zero->reason(), "rank 1 has left the attempt");
  EXPECT_EQ(got(join(*zero)).attempt, Attempt(2));
  EXPECT_EQ(got(std::move(b)).attempt, Attempt(2));
  auto c = join(*zero);
  wait_for_change(*one);
  EXPECT_EQ(one->reason(), "rank 0 has left the attempt");
  EXPECT_EQ(got(join(*one)).attempt, Attempt(3));
  EXPECT_EQ(got(std::move(c)).attempt, Attempt(3));
}

TEST_F(GroupLinkTest, WhoIsDoneIsNotMissed) {
  for (const std::uint32_t early : {0u, 1u}) {
    name_ += "x";
    std::unique_ptr<Link> links[2] = {opened(0), opened(1)};
    auto a = join(*links[0]);
    auto b = join(*links[1]);
    a.wait();
    b.wait();
    ASSERT_TRUE(links[early]->complete({}, {}));
    links[early].reset();
    std::this_thread::sleep_for(milliseconds(100));  // many looks; a late one would only miss a fault
    EXPECT_EQ(links[1 - early]->world_status(), WorldStatus::kGoOn) << early;
    EXPECT_TRUE(links[1 - early]->complete({}, {}));
  }
}

TEST_F(GroupLinkTest, WhatAnEarlierLaunchLeftDeceivesNobody) {
  {
    const auto zero = opened(0);
    const auto one = opened(1);
    auto a = join(*zero, {}, Attempt(7));
    got(join(*one));
    a.wait();
  }
  // The same launch again, by a launcher that gives each launch the same name.
  const auto zero = opened(0);
  auto a = join(*zero);
  EXPECT_EQ(a.wait_for(milliseconds(100)), std::future_status::timeout) << "rank 1 is not there";
  const auto one = opened(1);
  EXPECT_EQ(got(join(*one)).attempt, Attempt(1));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(1));
}

// The view of a rank 0 that checks when the successor has the lock and has not removed the call yet.
TEST_F(GroupLinkTest, ACallOfAnEarlierProcessIsNoneOfItsSuccessor) {
  const auto zero = opened(0);
  const auto call = run_ / "meeting" / (name_ + "-of-2") / "r0001.json";
  {
    const auto former = opened(1);
    auto a = join(*zero);
    got(join(*former));
    got(std::move(a));
    std::filesystem::copy_file(call, folder_.path() / "call");
  }
  wait_for_change(*zero);
  const auto one = opened(1);
  std::filesystem::copy_file(folder_.path() / "call", call);
  auto a = join(*zero, {}, Attempt(1));
  EXPECT_EQ(a.wait_for(milliseconds(100)), std::future_status::timeout) << "rank 1 has not called";
  EXPECT_EQ(got(join(*one)).attempt, Attempt(2));
  EXPECT_EQ(got(std::move(a)).attempt, Attempt(2));
}

TEST_F(GroupLinkTest, ASecondLaunchOfTheSameRunIsRefused) {
  const auto zero = opened(0);
  const auto one = opened(1);
  name_ = "launch-2";
  GroupTimeouts hurried = kPatient;
  hurried.end_report_timeout = milliseconds(10);
  for (const std::uint32_t rank : {0u, 1u}) {
    const auto refused = open(rank, 2, hurried);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
    EXPECT_THAT(refused.error().message(), HasSubstr("use another --run-name"));
  }
}

TEST_F(GroupLinkTest, RanksThatDoNotComeAreNamed) {
  GroupTimeouts hurried = kPatient;
  hurried.join_timeout = milliseconds(20);
  auto zero = open(0, 4, hurried);
  auto two = open(2, 4, hurried);
  ASSERT_TRUE(zero);
  ASSERT_TRUE(two);
  const auto missed = (*two)->join({}, Attempt(0));
  ASSERT_FALSE(missed);
  EXPECT_EQ(exit_code_of(missed.error().kind()), ExitCode::kStorage) << "the next start may find them";
  EXPECT_THAT(missed.error().message(), HasSubstr("rank 0 formed no world"));
  const auto refused = (*zero)->join({}, Attempt(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(exit_code_of(refused.error().kind()), ExitCode::kStorage) << "the next start may find them";
  EXPECT_THAT(refused.error().message(), HasSubstr("ranks 1, 3 have not joined"));
  EXPECT_THAT(refused.error().message(), HasSubstr("--save-folder"));
}

TEST_F(GroupLinkTest, ARankWithoutTheFlagsOfARollbackIsNoticed) {
  for (const std::uint32_t with : {0U, 1U}) {
    name_ += "x";
    rolls_back_ = with;
    const auto zero = opened(0);
    const auto one = opened(1);
    auto other = join(*one);
    const auto refused = zero->join({}, Attempt(0));
    ASSERT_FALSE(refused) << "rank " << with;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid) << "exit code 82";
    EXPECT_THAT(refused.error().message(), HasSubstr("rank 1 with "));
    EXPECT_THAT(refused.error().message(), HasSubstr("--resume-from 20 --skip 0"));
    const auto told = other.get();
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().kind(), ErrorKind::kInvalid) << "it ends with rank 0, and as rank 0 does";
    EXPECT_EQ(told.error().message(), "rank 0 forms no world: " + refused.error().message());
  }
}

// A disk that hangs, from the next call on that opens the file; once a call hangs, an hour passes.
class HangingLinkTest : public GroupLinkTest {
 protected:
  std::jthread hang_at(const test::HeldFile& file) {
    return std::jthread([&] {
      file.await_somebody();
      disk_clock_->advance(std::chrono::hours(2));
    });
  }
  void expect_said(const Error& error, ErrorKind kind, const char* doing) const {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.message(),
                testing::StartsWith(doing + run_.string() + ": the disk has not answered for"));
    EXPECT_TRUE(calls_->was_abandoned()->load()) << "the process must not be torn down around its thread";
  }
};

TEST_F(HangingLinkTest, AMeetingFolderThatHangsAtTheStartIsSaid) {
  std::filesystem::create_directory(run_ / "meeting");
  test::HeldFile lock(run_ / "meeting" / "r0001.lock");
  const auto passing = hang_at(lock);
  const auto refused = open(1);
  ASSERT_FALSE(refused);
  expect_said(refused.error(), ErrorKind::kIo, "meeting in ");
}

TEST_F(HangingLinkTest, WhoWaitsForOthersDoesNotWaitForTheDisk) {
  std::filesystem::create_directory(run_ / "meeting");
  const auto zero = opened(0);
  test::HeldFile lock(run_ / "meeting" / "r0001.lock");
  const auto passing = hang_at(lock);
  const auto refused = zero->join({}, Attempt(0));
  ASSERT_FALSE(refused);
  expect_said(refused.error(), ErrorKind::kIo, "meeting in ");
  EXPECT_FALSE(refused.error().is_retryable()) << "the process ends";
}

// Ranks watch each other through the disk: if a rank cannot be checked, the attempt ends.
TEST_F(HangingLinkTest, AnAttemptWhoseFolderHangsIsOver) {
  const auto zero = opened(0);
  const auto one = opened(1);
  auto a = join(*zero);
  got(join(*one));
  a.wait();
  test::HeldFile lock(run_ / "meeting" / "held");
  const auto passing = hang_at(lock);
  std::filesystem::rename(run_ / "meeting" / "held", run_ / "meeting" / "r0001.lock");
  wait_for_change(*zero);
  EXPECT_THAT(zero->reason(),
              testing::StartsWith("meeting in " + run_.string() + ": the disk has not answered for"));
}

}  // namespace
}  // namespace ratoon::session::group_link_test
