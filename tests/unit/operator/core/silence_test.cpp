#include "operator/core/loss/silence.h"

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::silence_test {
namespace {

using test::at_seconds;
using test::process;

// Members whose last message came at these seconds; the limit is 3 s.
Observation last_heard(std::initializer_list<double> moments, double listening_since = 0) {
  auto seen = test::running(test::job(static_cast<std::uint32_t>(moments.size())));
  std::size_t i = 0;
  for (const double moment : moments) seen.processes[i++].last_heard = at_seconds(moment);
  seen.listening_since = at_seconds(listening_since);
  return seen;
}

std::vector<std::uint32_t> lost_at(double now, const Observation& seen) {
  std::vector<std::uint32_t> indices;
  for (const auto& member : find_silent_members(seen, at_seconds(now)).lost) indices.push_back(member.index);
  return indices;
}
using Members = std::vector<std::uint32_t>;

TEST(FindSilent, ThreeSecondsWithoutABeatAreALoss) {
  const auto seen = last_heard({100, 97.1, 100});
  EXPECT_EQ(lost_at(100.0, seen), Members());
  EXPECT_EQ(lost_at(100.1, seen), Members({1}));
}

TEST(FindSilent, WakesAtTheNextMomentAtWhichSomebodyMayBeLost) {
  EXPECT_EQ(find_silent_members(last_heard({100, 98, 99}), at_seconds(100)).next_check, at_seconds(101));
  EXPECT_EQ(find_silent_members(last_heard({50, 50, 100}), at_seconds(60)).next_check, at_seconds(80))
      << "ten times the limit";
  EXPECT_EQ(find_silent_members(last_heard({}), at_seconds(60)).next_check, std::nullopt);
}

TEST(FindSilent, NothingIsConcludedBeforeItListenedForTheWholeTime) {
  EXPECT_EQ(lost_at(102.9, last_heard({50, 101, 101}, 100)), Members());
  EXPECT_EQ(lost_at(103.0, last_heard({50, 101, 101}, 100)), Members({0}));
}

TEST(FindSilent, ASilenceOfMoreThanHalfIsOurOwnUntilTenTimesTheLimit) {
  EXPECT_EQ(lost_at(29.9, last_heard({0, 0, 29})), Members());
  EXPECT_EQ(lost_at(30.0, last_heard({0, 0, 29})), Members({0, 1}));
  EXPECT_EQ(lost_at(3.0, last_heard({0, 0, 2, 2})), Members({0, 1})) << "half is not more than half";
}

// Beats of members behind a broken switch end at different moments of one second.
TEST(FindSilent, LossesSettleForABeatBeforeTheyAreWeighed) {
  const auto seen = last_heard({97.0, 97.3, 97.6, 97.9, 100});
  EXPECT_EQ(lost_at(100.0, seen), Members()) << "four of five fall silent: no loss of the first of them";
  EXPECT_EQ(find_silent_members(seen, at_seconds(100)).next_check, at_seconds(100.3));
  EXPECT_EQ(lost_at(100.0, last_heard({97.0, 98.1, 98.2, 98.3, 100})), Members({0})) << "the others talk";
}

Observation in_zones(Observation seen, const std::vector<std::string>& zones) {
  for (std::size_t i = 0; i < zones.size(); ++i)
    seen.nodes.push_back({.name = "node-" + std::to_string(i + 1), .zone = zones[i]});
  return seen;
}

TEST(FindSilent, AZoneThatFallsSilentAsAWholeIsHeldUntilTenTimesTheLimit) {
  const std::vector<std::string> zones = {"a", "a", "b", "b", "b"};
  const auto seen = in_zones(last_heard({70, 70, 99.5, 99.5, 99.5}), zones);
  EXPECT_EQ(lost_at(99.9, seen), Members());
  EXPECT_EQ(find_silent_members(seen, at_seconds(99.9)).next_check, at_seconds(100));
  EXPECT_EQ(lost_at(100.0, seen), Members({0, 1}));
  EXPECT_EQ(lost_at(100.0, in_zones(last_heard({97, 99, 97, 99, 99}), zones)), Members({0, 2}))
      << "one node of a zone, while others of it talk";
  EXPECT_EQ(lost_at(100.0, in_zones(last_heard({97, 99, 99, 99}), {"a", "b", "b", "b"})), Members({0}))
      << "a zone with one node of the job is that node";
  EXPECT_EQ(lost_at(100.0, in_zones(last_heard({97, 97, 99, 99}), {"", "", "", ""})), Members({0, 1}))
      << "nobody says where they are";
  EXPECT_EQ(lost_at(100.0, in_zones(last_heard({97, 97, 97, 99, 99, 99}), {"a", "a", "b", "b", "b", "b"})),
            Members({2}))
      << "what happens in another zone is judged by itself";
}

TEST(FindSilent, WhoTalksAtASlowBeatIsNotFallingSilent) {
  auto seen = last_heard({95, 96.5, 97, 97.5, 99});
  seen.job.spec.disruption_policy.heartbeat_seconds = 4;
  seen.job.spec.disruption_policy.suspect_after_seconds = 5;
  EXPECT_EQ(lost_at(100.0, seen), Members({0}));
}

TEST(FindSilent, AZoneWithAMemberThatIsDoneHasNotFallenSilent) {
  auto seen = in_zones(last_heard({97, 97, 97, 99, 99, 99, 99}), {"a", "a", "a", "b", "b", "b", "b"});
  EXPECT_EQ(lost_at(100.0, seen), Members());
  seen.processes[0].is_completed = true;
  EXPECT_EQ(lost_at(100.0, seen), Members({1, 2}));
}

TEST(FindSilent, ANodeThatFallsSilentWithMostMembersIsOneLoss) {
  auto seen = last_heard({0, 0, 2});
  seen.pods[1].node = seen.pods[0].node;
  EXPECT_EQ(lost_at(3.0, seen), Members({0, 1}));
}

TEST(FindSilent, WhoNeverSpokeIsLostWithItsNodeOnceWeHaveListenedForLongEnough) {
  auto seen = last_heard({12, 12}, 10);
  seen.processes.pop_back();
  seen.nodes = {{.name = "node-2", .is_lost = true}};
  EXPECT_EQ(lost_at(12.9, seen), Members()) << "it may be speaking to a leader before us";
  EXPECT_EQ(lost_at(13.0, seen), Members({1}));
  seen.nodes[0].is_lost = false;
  EXPECT_EQ(lost_at(13.0, seen), Members()) << "it may still be starting";
  seen.nodes[0].is_ready = false;
  EXPECT_EQ(lost_at(13.0, seen), Members()) << "its kubelet lives and has trouble; its pods may not";
  seen.job.status.suspect_nodes = {{.name = "node-2", .reason = "", .until = {}}};
  EXPECT_EQ(lost_at(13.0, seen), Members({1})) << "its neighbour fell silent";
}

TEST(FindSilent, ASuccessorOnASuspectNodeHasTheWholeTimeToSpeak) {
  auto seen = last_heard({102, 102}, 10);
  seen.processes.pop_back();
  seen.wall_now = test::wall(1000);
  seen.job.spec.disruption_policy.avoid_node_seconds = 300;
  seen.job.status.suspect_nodes = {{.name = "node-2", .reason = "", .until = test::wall(1299)}};
  EXPECT_EQ(lost_at(102, seen), Members()) << "its neighbour fell silent a second ago";
  EXPECT_EQ(find_silent_members(seen, at_seconds(102)).next_check, at_seconds(104));
  seen.wall_now = test::wall(1002);
  EXPECT_EQ(lost_at(104, seen), Members({1}));
  seen.job.status.members[1].first_message_awaited_since = test::wall(1000);
  EXPECT_EQ(lost_at(104, seen), Members()) << "the node started it after that";
}

// The beats of a process that is in no world yet may stop: it is still starting.
TEST(FindSilent, AMemberThatSpokeAfterItsNodeWasSuspectedIsNotLostWithIt) {
  auto seen = last_heard({102, 99}, 10);
  seen.job.status.is_world_formed = false;
  seen.world.clear();
  for (auto& process : seen.processes) process.has_been_in_world = false;
  seen.wall_now = test::wall(1002);
  seen.job.spec.disruption_policy.avoid_node_seconds = 300;
  seen.job.status.suspect_nodes = {{.name = "node-2", .reason = "", .until = test::wall(1298)}};
  EXPECT_EQ(lost_at(102, seen), Members()) << "the node was suspected at 98 s, and it spoke at 99 s";
  seen.wall_now = test::wall(1004);
  seen.job.status.suspect_nodes[0].until = test::wall(1301);
  EXPECT_EQ(lost_at(104, seen), Members({1})) << "at 101 s, after its last word";
}

TEST(FindSilent, AMemberAloneIsNoMass) {
  EXPECT_EQ(lost_at(3.0, last_heard({0})), Members({0}));
}

// Otherwise the loss of the first would make the second a loss only at the next decision.
TEST(FindSilent, WhoIsLostIsNoPartOfTheSilenceOfTheRest) {
  EXPECT_EQ(lost_at(30.0, last_heard({0, 20, 29})), Members({0, 1}));
}

TEST(FindSilent, MembersWhosePodEndedAreNotSilentButDead) {
  auto seen = last_heard({0, 0, 5});
  seen.pods[0] = test::ended_pod(0, 137);
  EXPECT_EQ(lost_at(5.0, seen), Members({1}));
  seen.pods[0] = test::pod(0);
  seen.pods[0].is_deleting = true;
  EXPECT_EQ(lost_at(5.0, seen), Members({1}));
  seen.pods.erase(seen.pods.begin());
  EXPECT_EQ(lost_at(5.0, seen), Members({1}));
}

TEST(FindSilent, ThoseThatCompletedMayBeSilentAndCountAmongTheHeard) {
  auto seen = last_heard({0, 0, 0, 0});
  seen.processes[0].is_completed = seen.processes[1].is_completed = true;
  EXPECT_EQ(lost_at(5.0, seen), Members({2, 3}));
}

TEST(FindSilent, AMemberIsAsQuietAsTheQuietestOfItsProcesses) {
  auto seen = last_heard({10, 10});
  seen.job.spec.processes_per_node = 2;
  seen.processes.push_back(test::heard(process(0, 0, 1), 5));
  seen.processes.push_back(test::heard(process(1, 0, 1), 10));
  for (auto& process : seen.processes) process.has_been_in_world = true;
  EXPECT_EQ(lost_at(10.0, seen), Members({0}));
}

TEST(FindSilent, AMemberOfAWorldThatWasFormedBeforeWeListenedIsSilentFromThenOn) {
  auto seen = last_heard({10, 10, 10}, 9);
  seen.processes.pop_back();
  seen.world.clear();
  EXPECT_EQ(lost_at(11.9, seen), Members());
  EXPECT_EQ(lost_at(12.0, seen), Members({2}));
}

// No world exists, and none of them was in one.
Observation starting(std::initializer_list<double> moments) {
  auto seen = last_heard(moments);
  seen.world.clear();
  seen.job.status.is_world_formed = false;
  return seen;
}

TEST(FindSilent, BeforeItsFirstWorldAMemberHasTheStartDeadlineAlone) {
  auto seen = starting({699, 100, 699});
  seen.job.spec.start_deadline_seconds = 600;
  EXPECT_EQ(lost_at(103.0, seen), Members());
  EXPECT_EQ(lost_at(699.9, seen), Members());
  EXPECT_EQ(lost_at(700.0, seen), Members({1}));
  EXPECT_EQ(lost_at(699.9, starting({100, 100, 100})), Members()) << "nor is it a silence of many";
  seen.job.spec.start_deadline_seconds = 0;
  EXPECT_EQ(lost_at(9000, seen), Members()) << "no deadline";
  seen.job.spec.start_deadline_seconds = 1;
  EXPECT_EQ(lost_at(102.9, seen), Members()) << "never less than one that trains has";
}

TEST(FindSilent, WakesWhenTheStartDeadlineOfAQuietMemberEnds) {
  auto seen = starting({699, 100, 699});
  seen.job.spec.start_deadline_seconds = 600;
  EXPECT_EQ(find_silent_members(seen, at_seconds(698)).next_check, at_seconds(699))
      << "a beat later, before that";
  EXPECT_EQ(find_silent_members(seen, at_seconds(699.5)).next_check, at_seconds(700));
  EXPECT_EQ(find_silent_members(seen, at_seconds(700)).next_check, at_seconds(702))
      << "it is lost; two are left";
  seen.job.spec.start_deadline_seconds = 0;
  EXPECT_EQ(find_silent_members(seen, at_seconds(699.5)).next_check, at_seconds(700.5)) << "no deadline";
}

TEST(FindSilent, AMemberThatWasInAWorldIsSilentWhileTheNextOneForms) {
  auto seen = starting({100, 97, 100});
  EXPECT_EQ(lost_at(100.0, seen), Members());
  seen.processes[1].has_been_in_world = true;
  EXPECT_EQ(lost_at(100.0, seen), Members({1}));
  seen = starting({100, 97, 100});
  seen.world = {test::seat(process(1), 0)};
  EXPECT_EQ(lost_at(100.0, seen), Members({1})) << "it has a seat";
}

TEST(FindSilent, ThoseThatAreStillStartingCountAmongTheSilentOrTheHeard) {
  auto seen = starting({97, 97, 100, 97});
  for (std::size_t i = 0; i < 3; ++i) seen.processes[i].has_been_in_world = true;
  EXPECT_EQ(lost_at(100.0, seen), Members()) << "three of four nodes are silent";
  seen.processes[3].last_heard = at_seconds(100);
  EXPECT_EQ(lost_at(100.0, seen), Members({0, 1})) << "two of four";
}

TEST(FindSilent, ThoseThatWaitForTheirFirstWorldAreNamedWhileTheyAreQuiet) {
  auto seen = starting({100, 97, 97.1});
  EXPECT_TRUE(find_silent_members(seen, at_seconds(100)).quiet_processes.empty())
      << "they do not wait for one yet";
  for (auto& process : seen.processes) process.join_request = test::join_request(process.identity);
  const auto silence = find_silent_members(seen, at_seconds(100));
  EXPECT_EQ(silence.quiet_processes, std::vector({process(1)}));
  EXPECT_EQ(silence.next_check, at_seconds(100.1)) << "then the third is quiet";
  EXPECT_EQ(find_silent_members(seen, at_seconds(102)).next_check, at_seconds(103)) << "they may speak again";
}

TEST(FindSilent, OfAMembersProcessesEachBecomesQuietByItself) {
  auto seen = starting({97});
  seen.job.spec.processes_per_node = 2;
  seen.job.spec.disruption_policy.heartbeat_seconds = 2;
  seen.processes.push_back(test::heard(process(0, 0, 1), 98));
  for (auto& process : seen.processes) process.join_request = test::join_request(process.identity);
  const auto silence = find_silent_members(seen, at_seconds(100));
  EXPECT_EQ(silence.quiet_processes, std::vector({process(0)}));
  EXPECT_EQ(silence.next_check, at_seconds(101));
}

TEST(FindSilent, NoWorldIsFormedWithOneThatIsQuietWhileItStarts) {
  auto seen = starting({100, 97});
  for (std::uint32_t i = 0; i < 2; ++i)
    seen.processes[i].join_request = test::join_request(seen.processes[i].identity);
  auto decision = reconcile(seen, at_seconds(100));
  EXPECT_FALSE(decision.status.is_world_formed);
  EXPECT_TRUE(decision.announcement.world.empty());
  EXPECT_EQ(decision.status.restarts.disruption, 0u) << "nor is it lost";
  EXPECT_EQ(decision.wake_at, at_seconds(101)) << "it may be heard by then";
  seen.processes[1].last_heard = at_seconds(100.5);
  EXPECT_EQ(reconcile(seen, at_seconds(101)).announcement.world.size(), 2u);
}

TEST(FindSilent, OneThatIsStillStartingIsLostWithItsNode) {
  auto seen = starting({100, 97});
  seen.nodes = {{.name = "node-2", .is_lost = true}};
  EXPECT_EQ(lost_at(99.9, seen), Members());
  EXPECT_EQ(lost_at(100.0, seen), Members({1}));
}

TEST(FindSilent, AProcessThatStartedAnewIsNotSilentBesideOneThatTrains) {
  auto seen = last_heard({100, 100});
  seen.job.spec.processes_per_node = 2;
  for (std::uint32_t i = 0; i < 2; ++i) seen.processes.push_back(test::heard(process(i, 0, 1), 97));
  EXPECT_EQ(lost_at(100.0, seen), Members());
  EXPECT_EQ(lost_at(700.0, seen), Members({0, 1})) << "once each";
}

TEST(FindSilent, ASuccessorThatFellSilentIsLostWithoutItsMemberAfterTheStartDeadline) {
  auto seen = last_heard({607, 607});
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  seen.processes.push_back(test::heard(process(1, 1), 7));
  EXPECT_EQ(lost_at(606.9, seen), Members());
  const auto lost = find_silent_members(seen, at_seconds(607)).lost;
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].incarnation, 1U);
}

// A new leader must not mistake the time that a large program needs before its first call for silence.
TEST(FindSilent, ASuccessorThatHasNotSpokenYetIsNotSilentInAForgottenWorld) {
  auto seen = last_heard({100, 100});
  seen.world.clear();
  seen.job.status.members[1].successor = 1;
  seen.job.status.members[1].successor_uid = test::uid_of(1, 1);
  seen.pods.push_back(test::pod(1, 1));
  EXPECT_EQ(lost_at(100, seen), Members());
}

TEST(FindSilent, AMemberIsSilentInAForgottenWorldWhileOneOfItsProcessesIs) {
  auto seen = last_heard({100, 100, 100}, 97.1);
  seen.job.spec.processes_per_node = 2;
  seen.world.clear();
  for (std::uint32_t i = 0; i < 2; ++i) seen.processes.push_back(test::heard(process(i, 0, 1), 100));
  EXPECT_EQ(lost_at(100, seen), Members());
  EXPECT_EQ(lost_at(100.1, seen), Members({2}));
  seen.processes.push_back(test::heard(process(2, 0, 1), 100));
  seen.processes.back().is_completed = true;
  EXPECT_EQ(lost_at(100.1, seen), Members()) << "it is done";
}

// Some of a pod's processes may be done and gone while one copies the last save.
TEST(FindSilent, OnesThatAreDoneAreNotMissedByANewLeader) {
  auto seen = last_heard({100, 100}, 60);
  seen.job.spec.processes_per_node = 2;
  seen.world.clear();
  EXPECT_EQ(lost_at(100, seen), Members({0, 1})) << "half of each was not heard";
  for (auto& member : seen.job.status.members) member.done = 2;
  EXPECT_EQ(lost_at(100, seen), Members());
  seen.job.status.members[1].done = 1;
  EXPECT_EQ(lost_at(100, seen), Members()) << "one may be done without that being stored: one of the job is";
  seen.job.status.members[0].done = 0;
  seen.processes.pop_back();
  EXPECT_EQ(lost_at(100, seen), Members({1})) << "a done one is no sign of life of the other";
}

TEST(FindSilent, AProcessThatIsMissingAtTheEndIsTakenForDone) {
  auto seen = last_heard({100}, 90);
  seen.job.spec.processes_per_node = 2;
  seen.world.clear();
  auto& beat = seen.processes[0].beat.emplace(test::beat(process(0), 1, 30));
  beat.outlook = ProgressEstimate{.position = 29, .total = 30, .unit = "step", .loss = {}};
  EXPECT_EQ(lost_at(121, seen), Members({0}));
  seen.processes[0].last_heard = at_seconds(121);
  EXPECT_EQ(lost_at(121, seen), Members({0})) << "a step is left to make";
  beat.outlook->position = 30;
  EXPECT_EQ(lost_at(121, seen), Members());
}

// It never delays the loss of silent members, and counts with them when it is judged itself.
TEST(FindSilent, WhoWasNotHeardInAForgottenWorldIsJudgedAfterTheSilent) {
  auto seen = last_heard({100, 96, 0}, 96);
  seen.world.clear();
  seen.processes.pop_back();
  EXPECT_EQ(lost_at(100, seen), Members({1, 2}));
  seen = last_heard({100, 96, 96, 0}, 96);
  seen.world.clear();
  seen.processes.pop_back();
  EXPECT_EQ(lost_at(100, seen), Members()) << "three of four";
}

// A change of the job reaches no member that already sends beats.
TEST(FindSilent, MembersAreJudgedByTheBeatThatTheyWereTold) {
  auto seen = last_heard({90, 115});
  for (auto& seat : seen.world) seat.assignment.beat_seconds = 10;
  EXPECT_EQ(lost_at(119.9, seen), Members()) << "it was to beat every ten seconds";
  EXPECT_EQ(lost_at(120, seen), Members({0}));
  seen.job.spec.disruption_policy.suspect_after_seconds = 31;
  EXPECT_EQ(lost_at(120.9, seen), Members()) << "a longer limit counts at once";
}

// The way to the new leader may be seconds late, for one node as for many: otherwise half of such jobs would
// be lost with a leader.
TEST(FindSilent, AJobOnOneNodeHasAsLongToFindANewLeaderAsOthers) {
  for (const std::uint32_t members : {1U, 2U}) {
    auto seen = test::running(test::job(members));
    seen.listening_since = at_seconds(100);
    seen.world.clear();
    seen.processes.clear();
    for (auto& pod : seen.pods) pod.node = "node-1";
    EXPECT_EQ(lost_at(129.9, seen), Members()) << members;
    EXPECT_EQ(lost_at(130, seen).size(), members) << "as long as many are waited for";
    seen.nodes = {{.name = "node-1", .is_lost = true}};
    EXPECT_EQ(lost_at(103, seen).size(), members) << "the platform says it itself";
  }
}

TEST(FindSilent, WhoNeverSpokeIsNotSilent) {
  auto seen = last_heard({10, 10});
  seen.processes.pop_back();
  EXPECT_EQ(lost_at(12.0, seen), Members());
}

}  // namespace
}  // namespace ratoon::core::silence_test
