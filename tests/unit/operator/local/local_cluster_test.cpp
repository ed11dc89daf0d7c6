#include "operator/local/members/local_cluster.h"

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"
#include "tests/support/children.h"
#include "tests/support/operator_builders.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::local_cluster_test {
namespace {

class LocalClusterTest : public testing::Test {
 protected:
  Result<void> create(std::uint32_t index, std::uint32_t incarnation = 0) {
    api::Pod pod = test::pod(index, incarnation);
    pod.node.clear();
    pod.uid.clear();
    pod.phase = api::PodPhase::kPending;
    return cluster_.create(pod);
  }
  api::Pod find(std::uint32_t index, std::uint32_t incarnation = 0) {
    for (const auto& pod : cluster_.pods())
      if (pod.index == index && pod.incarnation == incarnation) return pod;
    ADD_FAILURE() << "no pod of member " << index << ", incarnation " << incarnation;
    return {};
  }
  void wait_until_quiet() {
    for (cluster_.observe(); !cluster_.has_no_processes(); cluster_.observe())
      ASSERT_TRUE(test::wait_for_a_child());
    cluster_.observe();
  }
  // Waits until at most this number of pods have living processes.
  void wait_until_quiet_but(std::size_t pods) {
    for (cluster_.observe(); cluster_.pods().size() > pods; cluster_.observe())
      ASSERT_TRUE(test::wait_for_a_child());
  }
  void TearDown() override {
    cluster_.remove_all();
    wait_until_quiet();
    EXPECT_TRUE(cluster_.pods().empty());
  }

  test::TemporaryFolder folder_;
  std::string script_ = "sleep 100";
  LocalCluster cluster_{NodePool(3), [this](const api::Pod&) {
                          return MemberLaunchPlan{.command = {"sh", "-c", script_},
                                                  .environments = {{}},
                                                  .log_path = (folder_ / "log").string()};
                        }};
};

TEST_F(LocalClusterTest, EachPodHasANodeOfItsOwnAndAUid) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  EXPECT_EQ(find(0).node, "node-1");
  EXPECT_EQ(find(1).node, "node-2");
  EXPECT_NE(find(0).uid, find(1).uid);
  EXPECT_EQ(find(0).phase, api::PodPhase::kRunning);
  EXPECT_EQ(cluster_.describe()[1]["pids"].size(), 1u);
}

// As a file whose server is gone: the open of a pipe without a writer does not return.
TEST_F(LocalClusterTest, ALogThatDoesNotAnswerStopsNoDecision) {
  const std::string log = (folder_ / "log").string();
  script_ = "rm '" + log + "'; mkfifo '" + log + "'; exit 3";
  LocalCluster cluster(
      NodePool(2),
      [&](const api::Pod&) {
        return MemberLaunchPlan{.command = {"sh", "-c", script_}, .environments = {{}}, .log_path = log};
      },
      std::chrono::milliseconds(20));
  api::Pod pod = test::pod(0);
  pod.node.clear();
  pod.uid.clear();
  ASSERT_TRUE(cluster.create(pod));
  for (cluster.observe(); !cluster.has_no_processes(); cluster.observe())
    ASSERT_TRUE(test::wait_for_a_child());
  cluster.observe();
  EXPECT_EQ(cluster.pods().front().exit_code, 3);
  EXPECT_EQ(cluster.pods().front().last_lines, "");
  UniqueFd writer;  // lets the waiting thread end
  while (!writer.is_open()) writer = UniqueFd(::open(log.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

TEST_F(LocalClusterTest, APodThatExistsIsNotMadeAgain) {
  ASSERT_TRUE(create(0));
  const auto before = cluster_.describe();
  ASSERT_TRUE(create(0));
  EXPECT_EQ(cluster_.describe(), before);
}

TEST_F(LocalClusterTest, AReplacementGoesToAnotherNode) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  cluster_.remove(find(0).uid);
  wait_until_quiet_but(1);
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(find(0, 1).node, "node-3") << "the node of the lost one is suspect, though it is free";
  cluster_.remove(find(0, 1).uid);
  wait_until_quiet_but(1);
  ASSERT_TRUE(create(0, 2));
  EXPECT_EQ(find(0, 2).node, "node-1");
}

TEST_F(LocalClusterTest, ARemovedPodIsTerminatingUntilItsProcessesAreGone) {
  ASSERT_TRUE(create(0));
  cluster_.remove(find(0).uid);
  EXPECT_TRUE(find(0).is_deleting);
  wait_until_quiet();
  EXPECT_TRUE(cluster_.pods().empty());
}

// A program that saves when it gets SIGTERM, and waits before that for a line from the pipe `gate`.
class LocalClusterWithSaverTest : public LocalClusterTest {
 protected:
  void SetUp() override {
    for (const char* name : {"ready", "gate"}) ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
    script_ = "cd '" + folder_.path().string() +
              "'; trap 'read line < gate; echo > saved; exit 0' TERM; echo > ready; "
              "while :; do sleep 0.01; done";
    ASSERT_TRUE(create(0));
    const UniqueFd ready(::open((folder_ / "ready").c_str(), O_RDONLY | O_CLOEXEC));
    char line = 0;
    ASSERT_EQ(::read(ready.get(), &line, 1), 1);
    gate_ = UniqueFd(::open((folder_ / "gate").c_str(), O_RDWR | O_CLOEXEC));
  }
  bool has_saved() const { return std::filesystem::exists(folder_ / "saved"); }

  UniqueFd gate_;
};

TEST_F(LocalClusterWithSaverTest, ARemovedPodWithGraceMayEndByItself) {
  cluster_.remove(find(0).uid, test::at_seconds(30));
  cluster_.observe(test::at_seconds(29));
  EXPECT_TRUE(find(0).is_deleting);
  ASSERT_EQ(::write(gate_.get(), "\n", 1), 1);
  wait_until_quiet();
  EXPECT_TRUE(has_saved());
}

TEST_F(LocalClusterWithSaverTest, ARemovedPodIsKilledWhenItsGraceIsOver) {
  cluster_.remove(find(0).uid, test::at_seconds(30));
  cluster_.observe(test::at_seconds(30));
  wait_until_quiet();
  EXPECT_FALSE(has_saved());
}

TEST_F(LocalClusterTest, RemovesByUidAndNobodyElse) {
  ASSERT_TRUE(create(0));
  cluster_.remove("another uid");
  EXPECT_FALSE(find(0).is_deleting);
}

TEST_F(LocalClusterTest, APodThatEndedStaysUntilItIsRemoved) {
  script_ = "exit 3";
  ASSERT_TRUE(create(0));
  wait_until_quiet();
  EXPECT_EQ(find(0).phase, api::PodPhase::kFailed);
  EXPECT_EQ(find(0).exit_code, 3);
  cluster_.remove(find(0).uid);
  cluster_.observe();
  EXPECT_TRUE(cluster_.pods().empty());
}

TEST_F(LocalClusterTest, APodWhoseProcessesReachedTheEndSucceeded) {
  script_ = "exit 0";
  ASSERT_TRUE(create(0));
  wait_until_quiet();
  EXPECT_EQ(find(0).phase, api::PodPhase::kSucceeded);
  EXPECT_EQ(find(0).exit_code, 0);
}

// Two members were lost and their processes are still ending: the second replacement finds its place later.
TEST_F(LocalClusterTest, WithoutAFreeNodeItSaysSoAndTheSameCallWorksLater) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  cluster_.remove(find(0).uid);
  cluster_.remove(find(1).uid);
  ASSERT_TRUE(create(0, 1));
  const auto created = create(1, 1);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(created.error().message(), "no free node for digits-worker-1-i1");
  wait_until_quiet_but(1);
  EXPECT_TRUE(create(1, 1));
}

TEST_F(LocalClusterTest, KillsAMemberByAnyOfItsNames) {
  for (const char* name : {"worker-0", "digits-worker-0", "digits-worker-0-i0"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(create(0));
    ASSERT_TRUE(create(1));
    const auto killed = cluster_.kill_member(name);
    ASSERT_TRUE(killed) << killed.error().message();
    EXPECT_EQ(*killed, "digits-worker-0-i0");
    while (!find(0).has_ended()) {
      ASSERT_TRUE(test::wait_for_a_child());
      cluster_.observe();
    }
    EXPECT_EQ(find(0).exit_code, 137);
    EXPECT_EQ(find(1).phase, api::PodPhase::kRunning);
    cluster_.remove(find(0).uid);
    cluster_.observe();
  }
  EXPECT_EQ(cluster_.kill_member("worker-7").error().message(),
            "no member 'worker-7' is running; there are digits-worker-1-i0");
}

TEST_F(LocalClusterTest, OfAMemberAndItsSuccessorTheNewerOneIsKilled) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(*cluster_.kill_member("worker-0"), "digits-worker-0-i1");
  EXPECT_EQ(*cluster_.kill_member("digits-worker-0-i0"), "digits-worker-0-i0");
}

TEST_F(LocalClusterTest, ANodeTakesItsPodAlongAndNoNewOneGoesThere) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  EXPECT_EQ(cluster_.living_pods_on("node-2"), std::vector<std::string>{"digits-worker-1-i0"});
  const auto gone = cluster_.end_node("node-2");
  ASSERT_TRUE(gone) << gone.error().message();
  EXPECT_EQ(*gone, std::vector<std::string>{"digits-worker-1-i0"});
  EXPECT_FALSE(cluster_.end_node("node-2"));
  wait_until_quiet_but(2);
  ASSERT_TRUE(create(1, 1));
  EXPECT_EQ(find(1, 1).node, "node-3");
}

TEST_F(LocalClusterTest, ANodeWithNoticeKeepsItsPodAndTakesNoOther) {
  ASSERT_TRUE(create(0));
  for (const char* name : {"node-1", "node-2", "node-3"})
    ASSERT_TRUE(cluster_.nodes().announce_end(name, {}, {}));
  EXPECT_EQ(find(0).phase, api::PodPhase::kRunning);
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(find(0, 1).node, "node-4");
}

TEST_F(LocalClusterTest, ALastFreeNodeIsBetterThanNone) {
  LocalCluster machine(NodePool(1), [this](const api::Pod&) {
    return MemberLaunchPlan{
        .command = {"sh", "-c", "exit 3"}, .environments = {{}}, .log_path = (folder_ / "log").string()};
  });
  for (std::uint32_t incarnation = 0; incarnation < 2; ++incarnation) {
    ASSERT_TRUE(machine.create(test::pod(0, incarnation)));
    for (machine.observe(); !machine.has_no_processes(); machine.observe())
      ASSERT_TRUE(test::wait_for_a_child());
    EXPECT_EQ(machine.pods().back().node, "node-1");
  }
}

TEST_F(LocalClusterTest, AProgramThatIsMissingIsAnErrorWithThePodsName) {
  LocalCluster machine(NodePool(1), [this](const api::Pod&) {
    return MemberLaunchPlan{
        .command = {"no-such-program"}, .environments = {{}}, .log_path = (folder_ / "log").string()};
  });
  const auto created = machine.create(test::pod(0));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().message(),
            "digits-worker-0-i0: starting 'no-such-program': No such file or directory; no folder of PATH "
            "has this program: give a path to it");
  EXPECT_TRUE(machine.pods().empty());
}

TEST(ExplainLackOfNodesTest, NamesThePods) {
  EXPECT_EQ(explain_lack_of_nodes({}), "");
  EXPECT_EQ(explain_lack_of_nodes({"a-worker-0-i1", "a-worker-1-i1"}),
            "no node is free for a-worker-0-i1, a-worker-1-i1 yet");
}

}  // namespace
}  // namespace ratoon::local::local_cluster_test
