// Members that cannot connect to each other while the operator hears all of them.
#include "operator/core/loss/unreachable.h"

#include <chrono>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::unreachable_test {
namespace {

using test::at_seconds;
using test::process;
using test::uid_of;
using testing::HasSubstr;

constexpr double kBegan = 100;  // the complaints
constexpr double kDue = kBegan + 5;

using Complaints = std::map<std::uint32_t, std::set<std::uint32_t>>;  // by member: those that it cannot reach

class UnreachableTest : public testing::Test {
 protected:
  // All wait for each other since long before.
  void make(std::uint32_t members, const Complaints& complaints = {}) {
    seen_ = test::running(test::job(members));
    seen_.wall_now = {std::chrono::seconds(1000)};
    seen_.job.spec.restart_policy.backoff_seconds = 2;
    seen_.job.status.step = Step(7);
    for (std::uint32_t i = 0; i < members; ++i) {
      auto& beat = seen_.processes[i].beat.emplace(test::beat(process(i), 1, 7));
      beat.phase = ProcessPhase::kCollective;
      beat.seconds_in_phase = 20;
      seen_.processes[i].last_progress_at = at_seconds(kBegan - 20);
    }
    for (const auto& [member, peers] : complaints) complain(member, peers);
    hear_all(kDue);
  }
  void complain(std::uint32_t member, const std::set<std::uint32_t>& peers, double since = kBegan) {
    auto& process = seen_.processes[member];
    for (const std::uint32_t peer : peers) process.beat->unreachable_peers.push_back(uid_of(peer));
    process.peers_unreachable_since = at_seconds(since);
  }
  void hear_all(double at) {
    for (auto& process : seen_.processes) process.last_heard = at_seconds(at);
  }
  // -1: none.
  [[nodiscard]] int culprit(double at = kDue) const {
    const auto found = find_unreachable(seen_, at_seconds(at)).culprit;
    return found ? static_cast<int>(found->member.index) : -1;
  }
  [[nodiscard]] Decision decide(double at = kDue) const { return reconcile(seen_, at_seconds(at)); }

  Observation seen_;
};

TEST_F(UnreachableTest, TheCulpritIsAtTheMostBrokenLinks) {
  const struct {
    const char* name;
    std::uint32_t members;
    Complaints complaints;
    int culprit;
  } cases[] = {
      {"no complaint", 3, {}, -1},
      {"most others cannot reach it", 4, {{0, {2}}, {1, {2}}, {3, {2}}}, 2},
      {"and it reaches none of them", 4, {{0, {2}}, {1, {2}}, {2, {0, 1, 3}}, {3, {2}}}, 2},
      {"rank 0 is cut off", 4, {{0, {1, 2, 3}}, {1, {0}}, {2, {0}}, {3, {0}}}, 0},
      {"one alone accuses all others", 4, {{1, {0, 2, 3}}}, 1},
      {"one accuses all others and one of them", 4, {{1, {0, 2, 3}}, {2, {0}}}, 1},
      {"two members, the later one by a fixed rule", 2, {{0, {1}}, {1, {0}}}, 1},
      {"two of five members", 5, {{1, {3}}, {3, {1}}}, 3},
      {"one accuses one and is not accused", 4, {{0, {3}}}, 0},
      {"the same the other way round", 4, {{3, {0}}}, 3},
      {"one of two accuses the other", 2, {{0, {1}}}, 0},
      {"two pairs: one member at a time", 4, {{0, {1}}, {1, {0}}, {2, {3}}, {3, {2}}}, 3},
      {"two halves", 4, {{0, {2, 3}}, {1, {2, 3}}, {2, {0, 1}}, {3, {0, 1}}}, 3},
      {"one against two of five", 5, {{4, {0, 1}}, {0, {4}}, {1, {4}}}, 4},
      {"it accuses itself and a member that does not exist", 3, {{1, {1, 77}}}, -1},
  };
  for (const auto& c : cases) {
    make(c.members, c.complaints);
    EXPECT_EQ(culprit(), c.culprit) << c.name;
    const Decision decision = decide();
    EXPECT_EQ(decision.status.restarts.disruption, c.culprit < 0 ? 0U : 1U) << c.name << ": never two";
  }
}

// Several members share a node, and their complaints are about one network.
TEST_F(UnreachableTest, NodesAreCountedAndNotMembers) {
  const Complaints crowded = {{0, {3, 4, 5}}, {1, {3, 4, 5}}, {2, {3, 4, 5}},
                              {3, {0, 1, 2}}, {4, {0, 1, 2}}, {5, {0, 1, 2}}};
  make(6, crowded);
  for (const std::size_t i : {0U, 1U, 2U}) seen_.job.status.members[i].node = "node-1";
  EXPECT_EQ(culprit(), 2) << "node-1 has three broken links, each other node has one";
}

TEST_F(UnreachableTest, ItIsReplacedElsewhereAtOnceAndItsProgramIsNotBlamed) {
  make(3, {{0, {2}}, {1, {2}}, {2, {0, 1}}});
  seen_.job.spec.restart_policy.restarts_max = 0;
  const Decision decision = decide();
  EXPECT_EQ(decision.status.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(decision.status.restarts, (api::Restarts{.disruption = 1, .consecutive_crashes = 1}));
  EXPECT_FALSE(decision.status.last_failure);
  const auto made = test::only<CreatePod>(decision);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].pod.name, "digits-worker-2-i1");
  EXPECT_EQ(test::names_of(made[0].avoid_nodes), std::vector<std::string>{"node-3"});
  ASSERT_EQ(decision.status.suspect_nodes.size(), 1U);
  EXPECT_TRUE(decision.status.suspect_nodes[0].is_unreachable);
  const std::string why =
      "has no connection to digits-worker-0-i0 on node-1 and members on 1 other node, although the operator "
      "receives messages from all of them: check whether the network of node-3 works, and whether a network "
      "policy blocks connections between members";
  EXPECT_EQ(test::only<EmitEvent>(decision).front().message, "digits-worker-2-i0: " + why);
  EXPECT_EQ(test::only<EmitEvent>(decision).front().reason, "MemberLost");
  EXPECT_THAT(decision.announcement.reason, HasSubstr(why));
  EXPECT_THAT(decision.status.message, HasSubstr("; node-3 is avoided until "));
  EXPECT_THAT(decision.status.message, HasSubstr(why));
}

// The lost pod no longer excludes the node once its kubelet has removed it. While the new pod is on the node,
// an autoscaler sees a successor that no present node takes.
TEST_F(UnreachableTest, AMemberThatComesToAnAvoidedNodeGetsASuccessorElsewhere) {
  make(3);
  seen_.job.status.suspect_nodes = {
      {.name = "node-3", .reason = "cut", .until = test::wall(1300), .is_unreachable = true}};
  const Decision decision = decide();
  EXPECT_TRUE(decision.status.is_world_formed);
  EXPECT_EQ(decision.status.members[2].successor, 1U);
  const auto made = test::only<CreatePod>(decision);
  ASSERT_EQ(made.size(), 1U);
  ASSERT_EQ(made[0].avoid_nodes.size(), 1U);
  EXPECT_EQ(made[0].avoid_nodes[0].pods, (std::vector<api::MemberPodKey>{{"worker", 2, 0}}));
  EXPECT_THAT(test::only<EmitEvent>(decision).front().message,
              HasSubstr(": node node-3 is avoided (other nodes could not connect to it)"));
  seen_.job.status.suspect_nodes[0].is_unreachable = false;
  EXPECT_TRUE(test::only<CreatePod>(decide()).empty())
      << "a node that fell silent shows by itself that it works";
  seen_.job.status.suspect_nodes[0] = {.name = "node-3", .until = seen_.wall_now, .is_unreachable = true};
  EXPECT_TRUE(test::only<CreatePod>(decide()).empty()) << "its time is over";
}

TEST_F(UnreachableTest, TheFirstComplaintWaitsForTheOthers) {
  make(3, {{0, {2}}});
  EXPECT_EQ(culprit(kDue - 0.1), -1);
  EXPECT_EQ(find_unreachable(seen_, at_seconds(kBegan + 1)).next_check, at_seconds(kDue));
  EXPECT_LE(decide(kBegan + 1).wake_at, at_seconds(kDue)) << "it is decided then though nothing happens";
  complain(1, {2}, kBegan + 4);
  EXPECT_EQ(culprit(), 2);
}

TEST_F(UnreachableTest, NoMemberIsBlamedWhileTheWorldMakesSteps) {
  make(3, {{0, {2}}, {1, {2}}});
  seen_.processes[1].last_progress_at = at_seconds(kBegan + 3);
  EXPECT_EQ(culprit(), -1);
  EXPECT_EQ(culprit(kBegan + 8), -1) << "and has not been heard since";
  hear_all(kBegan + 8);
  EXPECT_EQ(culprit(kBegan + 8), 2);
  seen_.processes[1].beat->step = Step(8);
  EXPECT_EQ(decide(kBegan + 8).status.restarts.disruption, 0U) << "a step has just arrived";
}

// A member whose beats are missing is judged by its silence, and its peers cannot reach it for that reason.
TEST_F(UnreachableTest, AMemberThatIsNotHeardIsLeftToItsSilence) {
  make(3, {{0, {2}}, {1, {2}}});
  seen_.processes[2].last_heard = at_seconds(kDue - 3.5);
  EXPECT_EQ(culprit(), -1);
  EXPECT_TRUE(find_unreachable(seen_, at_seconds(kDue)).is_any_reported) << "and the others do not hang";
  make(3, {{0, {2}}, {1, {2}}});
  seen_.listening_since = at_seconds(kDue + 1);
  EXPECT_EQ(culprit(kDue + 1), -1) << "an operator that has just begun";
}

// It stopped before the others complained, and its silence may last longer than that.
TEST_F(UnreachableTest, AMemberIsBlamedOnlyIfItIsHeardAfterTheFirstComplaint) {
  make(3, {{0, {2}}, {1, {2}}});
  seen_.job.spec.disruption_policy.suspect_after_seconds = 60;
  seen_.processes[2].last_heard = at_seconds(kBegan - 1);
  EXPECT_EQ(culprit(), -1);
  EXPECT_EQ(find_unreachable(seen_, at_seconds(kDue)).next_check, at_seconds(kDue + 1))
      << "with its next beat";
  seen_.processes[2].last_heard = at_seconds(kBegan);
  EXPECT_EQ(culprit(), 2);
}

// A member that is lost after the first complaint is named as well, and it has beaten since that complaint.
TEST_F(UnreachableTest, AMemberIsBlamedOnlyIfItIsHeardAfterItIsNamedItself) {
  make(3, {{0, {2}}, {1, {2}}});
  seen_.job.spec.disruption_policy.suspect_after_seconds = 60;
  seen_.processes[0].new_unreachable_peer_at = at_seconds(kBegan + 3);
  seen_.processes[2].last_heard = at_seconds(kBegan + 2);
  EXPECT_EQ(culprit(), -1);
  seen_.processes[2].last_heard = at_seconds(kBegan + 3);
  EXPECT_EQ(culprit(), 2);
}

TEST_F(UnreachableTest, OnlyMembersOfThePresentWorldCount) {
  make(3, {{0, {2}}, {1, {2}}});
  seen_.processes[0].beat->attempt = seen_.processes[1].beat->attempt = Attempt(0);
  EXPECT_EQ(culprit(), -1) << "complaints about a former world";
  make(3, {{0, {2}}, {1, {2}}});
  seen_.processes[2] = test::waiting(process(2), 1, {}, kDue);
  EXPECT_EQ(culprit(), -1) << "it has left, and the world ends";
  make(3, {{0, {2}}, {1, {2}}});
  seen_.processes[2].is_completed = true;
  EXPECT_EQ(culprit(), -1) << "it is done, and its process has ended";
  make(3, {{0, {2}}, {1, {2}}});
  seen_.job.status.members[2].is_absent = true;
  EXPECT_EQ(culprit(), -1);
  make(3, {{0, {2}}, {1, {2}}});
  seen_.job.status.is_world_formed = false;
  EXPECT_EQ(culprit(), -1);
}

// One that loads for minutes does not probe yet, and the others can connect to it.
TEST_F(UnreachableTest, ASlowMemberIsNotBlamed) {
  make(3);
  seen_.processes[1].beat->phase = ProcessPhase::kLoad;
  EXPECT_FALSE(find_unreachable(seen_, at_seconds(kDue)).is_any_reported);
  EXPECT_EQ(decide().status.attempt, Attempt(1));
}

TEST_F(UnreachableTest, ItIsNoHangAndNoStall) {
  make(3, {{0, {2}}, {2, {0}}});
  for (auto& process : seen_.processes) process.beat->allowed_seconds = 10;
  seen_.job.spec.progress_deadline_seconds = 10;
  seen_.job.status.world_formed_at = WallTime{std::chrono::seconds(900)};
  const Decision early = decide(kBegan + 1);
  EXPECT_EQ(early.status.attempt, Attempt(1)) << "complaints explain the wait";
  const Decision decision = decide();
  EXPECT_EQ(decision.status.restarts, (api::Restarts{.disruption = 1, .consecutive_crashes = 1}));
  make(3);
  for (auto& process : seen_.processes) process.beat->allowed_seconds = 10;
  EXPECT_EQ(decide().status.restarts.hung, 1U) << "without complaints it is one";
}

// Its world waits for it in a collective that it never enters: that is the program's.
TEST_F(UnreachableTest, AMemberThatHangsElsewhereIsJudgedFirst) {
  make(3, {{0, {2}}, {2, {0}}});
  seen_.processes[1].beat->phase = ProcessPhase::kCompute;
  seen_.processes[1].beat->allowed_seconds = 10;
  const Decision decision = decide();
  EXPECT_EQ(decision.status.restarts.hung, 1U);
  EXPECT_EQ(decision.status.restarts.disruption, 0U);
}

// A pair that no replacement connects is not replaced for ever at full speed, nor always at the same end.
TEST_F(UnreachableTest, WithoutAStepTheNextIsTheOtherEndAfterAPauseThatGrows) {
  const struct {
    std::uint32_t before;
    int culprit;
    int pause_seconds;
  } cases[] = {{0, 1, 0}, {1, 0, 2}, {2, 1, 4}, {3, 0, 8}};
  for (const auto& c : cases) {
    make(2, {{0, {1}}, {1, {0}}});
    seen_.job.status.restarts.consecutive_crashes = c.before;
    seen_.job.status.restarts.losses_without_step = 1000;  // of other causes; this one adds none
    EXPECT_EQ(culprit(), c.culprit);
    const Decision decision = decide();
    EXPECT_NE(decision.status.phase, api::JobPhase::kFailed);
    EXPECT_EQ(decision.status.restarts.losses_without_step, 1000U);
    const auto& member = decision.status.members[static_cast<std::size_t>(c.culprit)];
    const auto made_at = c.pause_seconds == 0
                             ? std::nullopt
                             : std::optional(WallTime{std::chrono::seconds(1000 + c.pause_seconds)});
    EXPECT_EQ(member.next_pod_not_before, made_at) << c.before;
    EXPECT_EQ(test::only<CreatePod>(decision).size(), c.pause_seconds == 0 ? 1U : 0U);
    if (c.pause_seconds > 0) {
      EXPECT_THAT(decision.status.message, HasSubstr("is created again after a pause, at "));
      EXPECT_THAT(decision.status.message, HasSubstr("has no connection to"));
    }
  }
}

TEST_F(UnreachableTest, AFailureInTheSameDecisionWaitsAsAlways) {
  make(3, {{0, {2}}, {2, {0}}});
  seen_.pods[1] = test::ended_pod(1, 84);
  const Decision decision = decide();
  EXPECT_FALSE(decision.status.members[2].next_pod_not_before);
  EXPECT_EQ(decision.status.members[1].next_pod_not_before, WallTime{std::chrono::seconds(1002)});
}

// A member that accuses another one by itself is replaced first. If its successor says the same on another
// node, it is believed.
TEST_F(UnreachableTest, ASecondPodThatSaysTheSameIsBelieved) {
  make(4, {{1, {3}}});
  EXPECT_EQ(culprit(), 1);
  seen_.job.status.restarts.consecutive_crashes = 1;
  EXPECT_EQ(culprit(), 3);
}

TEST_F(UnreachableTest, TheSentenceFitsIntoTheStatus) {
  make(2, {{0, {1}}, {1, {0}}});
  const std::string node(253, 'n');
  for (auto& member : seen_.job.status.members) member.node = node + std::to_string(member.index);
  seen_.job.meta.name = std::string(253, 'j');
  seen_.job.status.restarts.consecutive_crashes = 1;
  EXPECT_LE(find_unreachable(seen_, at_seconds(kDue)).culprit.value().ending.explanation.size(), 700U);
  EXPECT_LE(decide().status.kubelet_rejection.size(), 1024U) << "a status with a longer one is not read";
}

TEST_F(UnreachableTest, AfterAChangeOfLeaderTheMembersWordsSuffice) {
  make(3, {{0, {2}}, {1, {2}}, {2, {0, 1}}});
  seen_.world.clear();  // the assignments are forgotten
  EXPECT_EQ(culprit(), 2);
  EXPECT_EQ(decide().status.restarts.disruption, 1U);
}

}  // namespace
}  // namespace ratoon::core::unreachable_test
