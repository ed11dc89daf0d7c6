#include "operator/local/members/process_group.h"

#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/unique_fd.h"
#include "tests/support/children.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::process_group_test {
namespace {

using testing::HasSubstr;

// A log that can be read while it is written.
class LivingLog {
 public:
  explicit LivingLog(const std::filesystem::path& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  // The next line, or nothing if there is none in time.
  std::string line(int milliseconds = 60'000) const {
    std::string text;
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    for (char c = 0; ::poll(&ready, 1, milliseconds) == 1 && ::read(fd_.get(), &c, 1) == 1 && c != '\n';)
      text += c;
    return text;
  }

 private:
  UniqueFd fd_;
};

class ProcessGroupTest : public testing::Test {
 protected:
  MemberLaunchPlan shell(const std::string& script, std::size_t processes = 1) {
    MemberLaunchPlan plan{
        .command = {"sh", "-c", script}, .environments = {}, .log_path = (folder_ / "log").string()};
    for (std::size_t i = 0; i < processes; ++i)
      plan.environments.push_back({{"LOCAL_RANK", std::to_string(i)}});
    return plan;
  }
  ProcessGroup launch(const MemberLaunchPlan& plan) {
    auto group = ProcessGroup::launch(plan);
    EXPECT_TRUE(group) << group.error().message();
    return std::move(*group);
  }
  static void wait_for_end(ProcessGroup& group) {
    for (group.reap(); !group.has_ended(); group.reap()) ASSERT_TRUE(test::wait_for_a_child());
  }
  std::string log() const { return test::read_text(folder_ / "log"); }

  test::TemporaryFolder folder_;
};

TEST_F(ProcessGroupTest, TellsHowItEnded) {
  const struct {
    const char* script;
    int exit_code;
  } cases[] = {
      {"exit 0", 0}, {"exit 82", 82}, {"kill -9 $$", 137}, {"kill -SEGV $$", 139}, {"kill -TERM $$", 143}};
  for (const auto& c : cases) {
    auto group = launch(shell(c.script));
    wait_for_end(group);
    EXPECT_EQ(group.exit_code(), c.exit_code) << c.script;
  }
}

// Opening a log would wait for a disk that hangs.
TEST_F(ProcessGroupTest, WritesToTheLogThatIsOpen) {
  MemberLaunchPlan plan = shell("echo out; echo err >&2", 2);
  const UniqueFd open_log(::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  plan.log_fd = open_log.get();
  plan.log_path = (folder_ / "missing" / "log").string();
  auto group = launch(plan);
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 0);
  EXPECT_EQ(log().size(), 2 * std::string("out\nerr\n").size());
}

TEST_F(ProcessGroupTest, EndsWithZeroOnlyWhenAllDo) {
  auto group = launch(shell("exit 0", 3));
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 0);
}

TEST_F(ProcessGroupTest, OneThatFailsEndsTheOthersAndItsCodeCounts) {
  auto group = launch(shell("[ $LOCAL_RANK = 1 ] && exit 7; sleep 100", 3));
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 7);
}

TEST_F(ProcessGroupTest, InterruptedEachLeavesWhenItIsDone) {
  const LivingLog living_log(folder_ / "log");
  const std::string gate = (folder_ / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const UniqueFd opener(::open(gate.c_str(), O_RDWR | O_CLOEXEC));
  auto group = launch(shell("trap '[ $LOCAL_RANK = 1 ] && exit 130; read line < " + gate +
                                "; echo saved; exit 0' INT; echo ready; while :; do sleep 0.01; done",
                            2));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(living_log.line(), "ready");
  group.interrupt();
  for (group.reap(); group.running_pids().size() == 2; group.reap()) ASSERT_TRUE(test::wait_for_a_child());
  ASSERT_EQ(::write(opener.get(), "\n", 1), 1);
  EXPECT_EQ(living_log.line(), "saved") << "that another one has left is no reason to kill it";
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 130) << "of the one that did not end with 0";
}

TEST_F(ProcessGroupTest, KillReachesGrandchildren) {
  const LivingLog living_log(folder_ / "log");
  auto group = launch(shell("(sleep 100 & echo $!; wait) & wait"));
  const pid_t grandchild = std::stoi(living_log.line());
  group.kill();
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 137);
  EXPECT_FALSE(test::lives_on(grandchild, 60'000));
}

// As in a container: when its first process is gone, all processes are.
TEST_F(ProcessGroupTest, NothingOutlivesItsProcesses) {
  const LivingLog living_log(folder_ / "log");
  for (const char* code : {"0", "3"}) {
    auto group = launch(shell(std::string("sleep 100 & echo $!; exit ") + code));
    const pid_t left_behind = std::stoi(living_log.line());
    wait_for_end(group);
    EXPECT_EQ(group.exit_code(), std::stoi(code));
    EXPECT_FALSE(test::lives_on(left_behind, 60'000));
  }
}

TEST_F(ProcessGroupTest, TheProgramFindsItsEnvironmentOnTopOfOurs) {
  ::setenv("RATOON_TEST_INHERITED", "kept", 1);
  ::setenv("RATOON_TEST_CHANGED", "old", 1);
  auto plan = shell("echo $RATOON_TEST_INHERITED/$RATOON_TEST_CHANGED/$LOCAL_RANK");
  plan.environments[0]["RATOON_TEST_CHANGED"] = "new = value";
  auto group = launch(plan);
  wait_for_end(group);
  EXPECT_EQ(log(), "kept/new = value/0\n");
}

TEST_F(ProcessGroupTest, BothOutputsAreAppendedToTheLogAndInputIsEmpty) {
  test::write_text(folder_ / "log", "of the start before\n");
  auto group = launch(shell("cat; echo out; echo err >&2"));
  wait_for_end(group);
  EXPECT_EQ(log(), "of the start before\nout\nerr\n");
}

TEST_F(ProcessGroupTest, SignalsThatWeBlockOrIgnoreWorkInTheProgram) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old_handler = std::signal(SIGINT, SIG_IGN);
  auto group = launch(shell("kill -TERM $$; exit 1"));
  auto other = launch(shell("kill -INT $$; exit 1"));
  std::signal(SIGINT, old_handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  wait_for_end(group);
  wait_for_end(other);
  EXPECT_EQ(group.exit_code(), 143);
  EXPECT_EQ(other.exit_code(), 130);
}

TEST_F(ProcessGroupTest, AMissingProgramIsAnErrorAndNothingIsLeftRunning) {
  auto plan = shell("", 3);
  plan.command = {"no-such-program-anywhere"};
  const auto group = ProcessGroup::launch(plan);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(group.error().message(), HasSubstr("starting 'no-such-program-anywhere'"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(ProcessGroupTest, AFileThatIsNoProgramIsAnError) {
  test::write_text(folder_ / "script", "echo hi\n");
  auto plan = shell("");
  plan.command = {(folder_ / "script").string()};
  EXPECT_EQ(ProcessGroup::launch(plan).error().kind(), ErrorKind::kInvalid);
}

TEST_F(ProcessGroupTest, TheLifelineEndsWhenWeCloseIt) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const LivingLog living_log(folder_ / "log");
  auto plan = shell("echo ready; read x <&3; echo runner is gone; exit 5");
  plan.lifeline_fd = read_end.get();
  auto group = launch(plan);
  EXPECT_EQ(living_log.line(), "ready");
  EXPECT_EQ(living_log.line(50), "") << "while we hold the other end, it does not read the end";
  static_cast<void>(write_end.close());
  EXPECT_EQ(living_log.line(), "runner is gone");
  wait_for_end(group);
  EXPECT_EQ(group.exit_code(), 5);
}

}  // namespace
}  // namespace ratoon::local::process_group_test
