// A program that ends the same way at each start: the second end is enough, if the fault is its own.
#include "operator/core/loss/fault/repeated_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::repeated_fault_test {
namespace {

using testing::HasSubstr;

const std::string kThrew = "ratoon: the training function threw std::out_of_range: no layer 17 of 12\n";

TEST(FindFault, IsTheTypeAndTheTextWithoutNumbers) {
  EXPECT_EQ(find_fault(kThrew), ": the training function threw std::out_of_range: no layer # of #");
  EXPECT_EQ(find_fault("terminate called after throwing an instance of 'std::out_of_range'\n"
                       "  what():  no layer 3 at 0x7ffe12ab\n"),
            "std::out_of_range: no layer # at #");
  EXPECT_EQ(find_fault("Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x41'\n"),
            ": KeyError: 'x#'");
  EXPECT_NE(find_fault("ratoon: the training function threw std::logic_error: no layer 17 of 12\n"),
            find_fault(kThrew))
      << "another type";
}

TEST(FindFault, IsNoneWhereNoExceptionOrAnotherThingThanTheProgramMayBeTheCause) {
  for (const std::string lines : {
           "",
           "no words of an exception\n",
           "ratoon: rank 1 waits for the others\n",
           "ratoon: the training function threw std::system_error: reading a.bin: Input/output error\n",
           "ratoon: the training function threw std::bad_alloc: std::bad_alloc\n",
           "ratoon: the training function threw c10::Error: CUDA error: an illegal access\n",
           "ratoon: the training function threw std::runtime_error: Connection reset by peer\n",
           "terminate called after throwing an instance of 'std::filesystem::__cxx11::filesystem_error'\n"
           "  what():  filesystem error: cannot open\n",
           "Traceback (most recent call last):\n  File \"a.py\", line 3\nFileNotFoundError: data/17\n",
           "Traceback (most recent call last):\n  File \"a.py\", line 3\nTimeoutError: it took 30 s\n",
           "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
           "torch.distributed.DistBackendError: NCCL error in: a.cpp\n",
           "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
           "torch.OutOfMemoryError: CUDA out of memory\n",
       })
    EXPECT_EQ(find_fault(lines), "") << lines;
}

TEST(IsAfter, IsOfTheSameMemberAlone) {
  const auto seen = test::running(test::job(12));
  const api::MemberStatus member{.role = "worker", .index = 1, .incarnation = 3};
  EXPECT_TRUE(is_newer_incarnation(seen, member, "digits-worker-1-i0"));
  EXPECT_TRUE(is_newer_incarnation(seen, member, "digits-worker-1-i2"));
  for (const std::string other : {"digits-worker-1-i3", "digits-worker-1-i10", "digits-worker-11-i0",
                                  "digits-worker-0-i0", "digits-worker-1-i", "digits-worker-1-ix", ""})
    EXPECT_FALSE(is_newer_incarnation(seen, member, other)) << other;
}

// A job of two members whose member 0 failed in its first start with these words, and has failed again as
// given.
class RepeatedFault : public testing::Test {
 protected:
  struct Again {
    std::uint32_t index = 0;
    std::string lines = kThrew;
    int exit_code = 1;
  };

  RepeatedFault() {
    seen_.wall_now = test::wall(100);
    fail({.lines = kThrew});
    seen_.job.status = decide().status;
    EXPECT_EQ(seen_.job.status.phase, api::JobPhase::kRecovering);
    EXPECT_EQ(seen_.job.status.last_failure->member, "digits-worker-0-i0");
    seen_.world.clear();
    seen_.wall_now = test::wall(110);
  }

  void fail(const Again& again) {
    auto& member = seen_.job.status.members[again.index];
    member.uid = test::uid_of(again.index, member.incarnation);
    std::erase_if(seen_.pods, [&](const auto& pod) { return pod.index == again.index; });
    seen_.pods.push_back(test::ended_pod(again.index, again.exit_code, member.incarnation));
    seen_.pods.back().last_lines = again.lines;
  }
  [[nodiscard]] Decision decide() const { return reconcile(seen_, test::at_seconds(1)); }
  [[nodiscard]] api::JobPhase phase_after(const Again& again) {
    fail(again);
    return decide().status.phase;
  }

  Observation seen_ = test::running(test::job(2));
};

TEST_F(RepeatedFault, EndsTheJobAtOnce) {
  fail({.lines = "ratoon: the training function threw std::out_of_range: no layer 99 of 3\n"});
  const auto status = decide().status;
  EXPECT_EQ(status.phase, api::JobPhase::kFailed);
  EXPECT_THAT(status.message,
              HasSubstr("digits-worker-0-i1 failed as digits-worker-0-i0 did, before any step"));
  EXPECT_THAT(status.message, HasSubstr("std::out_of_range: no layer 99 of 3"));
  EXPECT_EQ(status.last_failure->member, "digits-worker-0-i1");
}

// A server with a name of no list is unreachable for a few seconds.
TEST_F(RepeatedFault, OfWhichMoreThanTheProgramMayBeTheCauseHasToLast) {
  const std::string lines = "ratoon: the training function threw std::runtime_error: the feed is dry\n";
  seen_.job.status.last_failure->last_lines = lines;
  seen_.job.status.last_failure->time = test::wall(100);
  fail({.lines = lines});
  seen_.pods.back().ended_at = test::wall(109);
  EXPECT_EQ(decide().status.phase, api::JobPhase::kRecovering);
  seen_.pods.back().ended_at = test::wall(110);
  EXPECT_EQ(decide().status.phase, api::JobPhase::kFailed);
}

// As the fault of a file which another program still writes.
TEST_F(RepeatedFault, OfAPathWhereNothingIsHasToLastAndToBeOfThatPath) {
  const auto lines_of = [](const std::string& path) {
    return "ratoon: the training function threw std::invalid_argument: opening " + path +
           ": No such file or directory\n";
  };
  seen_.job.status.last_failure->last_lines = lines_of("data/trian.00012.bin");
  seen_.job.status.last_failure->time = test::wall(100);
  fail({.lines = lines_of("data/trian.00012.bin")});
  seen_.pods.back().ended_at = test::wall(109);
  EXPECT_EQ(decide().status.phase, api::JobPhase::kRecovering);
  seen_.pods.back().ended_at = test::wall(110);
  const auto status = decide().status;
  EXPECT_EQ(status.phase, api::JobPhase::kFailed);
  EXPECT_THAT(status.message, HasSubstr("opening data/trian.00012.bin: No such file or directory"));
  seen_.pods.back().last_lines = lines_of("data/trian.00013.bin");
  EXPECT_EQ(decide().status.phase, api::JobPhase::kRecovering) << "another shard is missing: more come";
}

TEST_F(RepeatedFault, IsNoTracebackThatTheProgramWentOnFrom) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"t.py\", line 3\nModuleNotFoundError: No module named "
      "apex\n";
  const std::string lines = traceback + "falling back\nthe feed is dry, giving up\n";
  seen_.job.status.last_failure->last_lines = lines;
  seen_.job.status.last_failure->time = test::wall(105);
  EXPECT_EQ(phase_after({.lines = lines}), api::JobPhase::kRecovering);
  EXPECT_EQ(find_fault(traceback + "falling back\nloading data: Stale file handle, giving up\n"), "");
  seen_.job.status.last_failure->last_lines = traceback;
  EXPECT_EQ(phase_after({.lines = traceback}), api::JobPhase::kFailed);
}

TEST_F(RepeatedFault, OfAnotherWordIsAnotherFault) {
  EXPECT_EQ(phase_after({.lines = "ratoon: the training function threw std::out_of_range: no head 1\n"}),
            api::JobPhase::kRecovering);
}

TEST_F(RepeatedFault, CountsOnceForAllOfOneWorld) {
  EXPECT_EQ(phase_after({.index = 1}), api::JobPhase::kRecovering) << "it sat in the world that failed";
  seen_.processes[1].beat = test::beat(test::process(1), 2, 0);
  EXPECT_EQ(decide().status.phase, api::JobPhase::kFailed) << "and in the next one";
}

TEST_F(RepeatedFault, ThatSeveralShowWhileTheyStartIsFoundInTheFirstOfThem) {
  fail({.index = 1});
  seen_.job.status = decide().status;
  EXPECT_EQ(seen_.job.status.last_failure->member, "digits-worker-0-i0") << "the second failed beside it";
  EXPECT_EQ(phase_after({.index = 0}), api::JobPhase::kFailed);
}

TEST_F(RepeatedFault, IsLeftToRestartsOnceTheJobHasMadeAStep) {
  seen_.job.status.last_step_at = test::wall(1);
  EXPECT_EQ(phase_after({}), api::JobPhase::kRecovering);
}

TEST_F(RepeatedFault, IsOfProgramsThatThrowAlone) {
  EXPECT_EQ(phase_after({.exit_code = 84}), api::JobPhase::kRecovering) << "its storage failed";
  EXPECT_EQ(phase_after({.exit_code = 137}), api::JobPhase::kRecovering) << "it was killed";
  EXPECT_EQ(phase_after({.exit_code = 139}), api::JobPhase::kRecovering) << "it crashed, with older words";
  EXPECT_EQ(phase_after({.exit_code = 134}), api::JobPhase::kFailed) << "an exception that nothing caught";
}

TEST_F(RepeatedFault, IsWhatTheJobsOwnRulesSay) {
  seen_.job.spec.restart_policy.rules = {
      {.exit_codes = {1}, .signals = {}, .reasons = {}, .roles = {}, .action = api::RuleAction::kRestart}};
  EXPECT_EQ(phase_after({}), api::JobPhase::kRecovering);
  EXPECT_EQ(phase_after({.exit_code = 2}), api::JobPhase::kFailed);
  seen_.job.spec.failure_policy.roles = {"trainer"};
  EXPECT_EQ(phase_after({.exit_code = 2}), api::JobPhase::kRecovering) << "its role does not decide";
}

}  // namespace
}  // namespace ratoon::core::repeated_fault_test
