#include "operator/core/loss/last_failure.h"

#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::last_failure_test {
namespace {

using test::process;

api::Pod failed(std::uint32_t index, int exit_code, int ended_at, const std::string& lines = "") {
  api::Pod pod = test::ended_pod(index, exit_code);
  pod.ended_at = WallTime{std::chrono::seconds(ended_at)};
  pod.last_lines = lines;
  return pod;
}

// Three members train in attempt 1 and have beaten in it.
Observation training() {
  Observation seen = test::running(test::job(3));
  for (std::uint32_t i = 0; i < 3; ++i) seen.processes[i].beat = test::beat(process(i), 1, 7, 1);
  seen.wall_now = WallTime{std::chrono::seconds(100)};
  return seen;
}

TEST(LastFailure, TellsCodeSignalAndWords) {
  auto seen = training();
  seen.pods[1] = failed(1, 139, 90, "step 6\nratoon: rank 1 lost its mind\n");
  const auto failure = reconcile(seen, test::at_seconds(1)).status.last_failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->member, "digits-worker-1-i0");
  EXPECT_EQ(failure->node, "node-2");
  EXPECT_EQ(failure->attempt, Attempt(1));
  EXPECT_EQ(failure->exit_code, 139U);
  EXPECT_EQ(failure->signal, 11U);
  EXPECT_EQ(failure->reason, "crashed with signal 11");
  EXPECT_EQ(failure->exception, "rank 1 lost its mind");
  EXPECT_EQ(failure->last_lines, "step 6\nratoon: rank 1 lost its mind\n");
  EXPECT_EQ(failure->time, WallTime{std::chrono::seconds(90)});
}

TEST(LastFailure, IsTheFirstOfThoseThatOneLookShows) {
  auto seen = training();
  seen.pods[0] = failed(0, 1, 91);
  seen.pods[2] = failed(2, 3, 90);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.last_failure->member, "digits-worker-2-i0");
}

TEST(LastFailure, IsNotThatOfAMemberThatTheFirstOneDraggedAlong) {
  auto seen = training();
  seen.pods[2] = failed(2, 3, 90);
  seen.job.status = reconcile(seen, test::at_seconds(1)).status;
  ASSERT_EQ(seen.job.status.last_failure->member, "digits-worker-2-i0");
  seen.pods[0] = failed(0, 1, 89);  // its clock is another one
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.last_failure->member, "digits-worker-2-i0");
}

TEST(LastFailure, OfAnotherWorldIsNews) {
  auto seen = training();
  seen.job.status.last_failure = api::MemberFailure{.member = "digits-worker-2-i0", .attempt = Attempt(1)};
  seen.job.status.attempt = Attempt(2);
  for (auto& one : seen.processes) one.beat->attempt = Attempt(2);
  for (auto& seat : seen.world) seat.assignment.attempt = Attempt(2);
  seen.pods[0] = failed(0, 1, 95);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.last_failure->member, "digits-worker-0-i0");
}

TEST(LastFailure, OfOneThatNeverSatIsTold) {
  Observation seen{.job = test::new_job(1)};
  seen.job.status.members = test::job(1).status.members;
  seen.pods = {failed(0, 7, 95)};
  const auto failure = reconcile(seen, test::at_seconds(1)).status.last_failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->attempt, Attempt(0));
  EXPECT_EQ(failure->exit_code, 7U);
  EXPECT_EQ(failure->signal, std::nullopt);
}

TEST(LastFailure, DisruptionsAreNone) {
  auto seen = training();
  seen.pods[0] = failed(0, 137, 95);
  EXPECT_EQ(reconcile(seen, test::at_seconds(1)).status.last_failure, std::nullopt);
}

TEST(FindException, TakesTheLastLineThatSaysSo) {
  EXPECT_EQ(find_exception("ratoon: attempt 1 ends\nratoon: the disk is full\nbye\n"), "the disk is full");
  EXPECT_EQ(find_exception("terminate called after throwing an instance of 'std::out_of_range'\n"
                           "  what():  no such layer\nratoon: older\n"),
            "no such layer");
  EXPECT_EQ(
      find_exception("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n"
                     "KeyError: 'x'\n\nDuring handling of the above exception, another one occurred:\n\n"
                     "Traceback (most recent call last):\n  File \"a.py\", line 3\n    g()\n    ~^^\n"
                     "ValueError: no such thing\nbye\n"),
      "ValueError: no such thing");
  EXPECT_EQ(find_exception("[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 3\n"
                           "[rank1]: torch.OutOfMemoryError: CUDA out of memory"),
            "torch.OutOfMemoryError: CUDA out of memory");
  EXPECT_EQ(find_exception("Traceback (most recent call last):\n  File"), "") << "it was cut off";
  EXPECT_EQ(find_exception("no ratoon: here"), "");
  EXPECT_EQ(find_exception("ratoon: at the beginning"), "at the beginning");
  EXPECT_EQ(find_exception(""), "");
  EXPECT_EQ(find_exception("ratoon: " + std::string(5000, 'x')).size(), 1000U);
}

}  // namespace
}  // namespace ratoon::core::last_failure_test
