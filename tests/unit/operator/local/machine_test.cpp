#include "operator/local/machine.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/children.h"
#include "tests/support/operator_builders.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::machine_test {
namespace {

class MachineTest : public testing::Test {
 protected:
  Result<void> create(std::uint32_t index, std::uint32_t incarnation = 0) {
    api::Pod pod = test::pod(index, incarnation);
    pod.node.clear();
    pod.uid.clear();
    pod.phase = api::PodPhase::kPending;
    return machine_.create(pod);
  }
  api::Pod find(std::uint32_t index, std::uint32_t incarnation = 0) {
    for (const auto& pod : machine_.pods())
      if (pod.index == index && pod.incarnation == incarnation) return pod;
    ADD_FAILURE() << "no pod of member " << index << ", incarnation " << incarnation;
    return {};
  }
  void wait_until_quiet() {
    for (machine_.observe(); !machine_.is_quiet(); machine_.observe()) ASSERT_TRUE(test::wait_for_a_child());
    machine_.observe();
  }
  // Until no more than so many pods have living processes.
  void wait_until_quiet_but(std::size_t pods) {
    for (machine_.observe(); machine_.pods().size() > pods; machine_.observe())
      ASSERT_TRUE(test::wait_for_a_child());
  }
  void TearDown() override {
    machine_.remove_all();
    wait_until_quiet();
    EXPECT_TRUE(machine_.pods().empty());
  }

  test::TemporaryFolder folder_;
  std::string script_ = "sleep 100";
  Machine machine_{NodePool(3), [this](const api::Pod&) {
                     return LaunchPlan{.command = {"sh", "-c", script_},
                                       .environments = {{}},
                                       .log_path = (folder_ / "log").string()};
                   }};
};

TEST_F(MachineTest, EachPodHasANodeOfItsOwnAndAUid) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  EXPECT_EQ(find(0).node, "node-1");
  EXPECT_EQ(find(1).node, "node-2");
  EXPECT_NE(find(0).uid, find(1).uid);
  EXPECT_EQ(find(0).phase, api::PodPhase::kRunning);
  EXPECT_EQ(machine_.describe()[1]["pids"].size(), 1u);
}

TEST_F(MachineTest, APodThatExistsIsNotMadeAgain) {
  ASSERT_TRUE(create(0));
  const auto before = machine_.describe();
  ASSERT_TRUE(create(0));
  EXPECT_EQ(machine_.describe(), before);
}

TEST_F(MachineTest, AReplacementGoesToAnotherNode) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  machine_.remove(find(0).uid);
  wait_until_quiet_but(1);
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(find(0, 1).node, "node-3") << "the node of the lost one is suspect, though it is free";
  machine_.remove(find(0, 1).uid);
  wait_until_quiet_but(1);
  ASSERT_TRUE(create(0, 2));
  EXPECT_EQ(find(0, 2).node, "node-1");
}

TEST_F(MachineTest, ARemovedPodIsTerminatingUntilItsProcessesAreGone) {
  ASSERT_TRUE(create(0));
  machine_.remove(find(0).uid);
  EXPECT_TRUE(find(0).is_deleting);
  wait_until_quiet();
  EXPECT_TRUE(machine_.pods().empty());
}

TEST_F(MachineTest, RemovesByUidAndNobodyElse) {
  ASSERT_TRUE(create(0));
  machine_.remove("another uid");
  EXPECT_FALSE(find(0).is_deleting);
}

TEST_F(MachineTest, APodThatEndedStaysUntilItIsRemoved) {
  script_ = "exit 3";
  ASSERT_TRUE(create(0));
  wait_until_quiet();
  EXPECT_EQ(find(0).phase, api::PodPhase::kFailed);
  EXPECT_EQ(find(0).exit_code, 3);
  machine_.remove(find(0).uid);
  machine_.observe();
  EXPECT_TRUE(machine_.pods().empty());
}

TEST_F(MachineTest, APodWhoseProcessesReachedTheEndSucceeded) {
  script_ = "exit 0";
  ASSERT_TRUE(create(0));
  wait_until_quiet();
  EXPECT_EQ(find(0).phase, api::PodPhase::kSucceeded);
  EXPECT_EQ(find(0).exit_code, 0);
}

// Two members were lost and their processes are still on their way out: the second replacement finds its
// place later.
TEST_F(MachineTest, WithoutAFreeNodeItSaysSoAndTheSameCallWorksLater) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  machine_.remove(find(0).uid);
  machine_.remove(find(1).uid);
  ASSERT_TRUE(create(0, 1));
  const auto created = create(1, 1);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(created.error().message(), "no free node for digits-worker-1-i1");
  wait_until_quiet_but(1);
  EXPECT_TRUE(create(1, 1));
}

TEST_F(MachineTest, KillsAMemberByAnyOfItsNames) {
  for (const char* name : {"worker-0", "digits-worker-0", "digits-worker-0-i0"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(create(0));
    ASSERT_TRUE(create(1));
    const auto killed = machine_.kill_member(name);
    ASSERT_TRUE(killed) << killed.error().message();
    EXPECT_EQ(*killed, "digits-worker-0-i0");
    while (!find(0).has_ended()) {
      ASSERT_TRUE(test::wait_for_a_child());
      machine_.observe();
    }
    EXPECT_EQ(find(0).exit_code, 137);
    EXPECT_EQ(find(1).phase, api::PodPhase::kRunning);
    machine_.remove(find(0).uid);
    machine_.observe();
  }
  EXPECT_EQ(machine_.kill_member("worker-7").error().message(),
            "there is no member 'worker-7' that runs; there are digits-worker-1-i0");
}

TEST_F(MachineTest, OfAMemberAndItsSuccessorTheNewerOneIsKilled) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(*machine_.kill_member("worker-0"), "digits-worker-0-i1");
  EXPECT_EQ(*machine_.kill_member("digits-worker-0-i0"), "digits-worker-0-i0");
}

TEST_F(MachineTest, ANodeTakesItsPodAlongAndNoNewOneGoesThere) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(create(1));
  EXPECT_EQ(machine_.living_pods_on("node-2"), std::vector<std::string>{"digits-worker-1-i0"});
  const auto gone = machine_.end_node("node-2");
  ASSERT_TRUE(gone) << gone.error().message();
  EXPECT_EQ(*gone, std::vector<std::string>{"digits-worker-1-i0"});
  EXPECT_FALSE(machine_.end_node("node-2"));
  wait_until_quiet_but(2);
  ASSERT_TRUE(create(1, 1));
  EXPECT_EQ(find(1, 1).node, "node-3");
}

TEST_F(MachineTest, ANodeWithNoticeKeepsItsPodAndTakesNoOther) {
  ASSERT_TRUE(create(0));
  for (const char* name : {"node-1", "node-2", "node-3"})
    ASSERT_TRUE(machine_.nodes().announce_end(name, {}, {}));
  EXPECT_EQ(find(0).phase, api::PodPhase::kRunning);
  ASSERT_TRUE(create(0, 1));
  EXPECT_EQ(find(0, 1).node, "node-4");
}

TEST_F(MachineTest, ALastFreeNodeIsBetterThanNone) {
  Machine machine(NodePool(1), [this](const api::Pod&) {
    return LaunchPlan{
        .command = {"sh", "-c", "exit 3"}, .environments = {{}}, .log_path = (folder_ / "log").string()};
  });
  for (std::uint32_t incarnation = 0; incarnation < 2; ++incarnation) {
    ASSERT_TRUE(machine.create(test::pod(0, incarnation)));
    for (machine.observe(); !machine.is_quiet(); machine.observe()) ASSERT_TRUE(test::wait_for_a_child());
    EXPECT_EQ(machine.pods().back().node, "node-1");
  }
}

TEST_F(MachineTest, AProgramThatIsMissingIsAnErrorWithThePodsName) {
  Machine machine(NodePool(1), [this](const api::Pod&) {
    return LaunchPlan{
        .command = {"no-such-program"}, .environments = {{}}, .log_path = (folder_ / "log").string()};
  });
  const auto created = machine.create(test::pod(0));
  ASSERT_FALSE(created);
  EXPECT_EQ(
      created.error().message(),
      "digits-worker-0-i0: starting 'no-such-program': No such file or directory; no folder of PATH has "
      "it: give a path to it");
  EXPECT_TRUE(machine.pods().empty());
}

}  // namespace
}  // namespace ratoon::local::machine_test
