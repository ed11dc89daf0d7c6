#include "operator/core/members/roster.h"

#include <gmock/gmock.h>

#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::roster_test {
namespace {

using test::only;
using test::process;

const std::vector<api::MemberStatus> kNobody;

api::MemberStatus member(std::uint32_t index, std::uint32_t incarnation = 0, std::string uid = "") {
  return {.role = "worker", .index = index, .incarnation = incarnation, .uid = std::move(uid)};
}

TEST(DesiredMembers, FollowTheSpecAndKeepTheirIncarnations) {
  auto job = test::new_job(2);
  job.spec.roles.push_back({.name = "judge", .replicas = 1, .command = {"judge"}, .environment = {}});
  job.status.members = {member(1, 4, "uid"), member(7, 2, "gone from the spec")};
  const std::vector<api::MemberStatus> expected = {
      member(0), member(1, 4, "uid"), {.role = "judge", .index = 0, .incarnation = 0, .uid = ""}};
  EXPECT_EQ(desired_members(job), expected);
}

TEST(IsCompleted, WhenEveryProcessSaidSo) {
  auto seen = test::running(test::job(1));
  seen.job.spec.processes_per_node = 2;
  const auto& worker = seen.job.status.members[0];
  seen.processes = {test::done(process(0, 0, 0))};
  EXPECT_FALSE(is_completed(seen, worker));
  seen.processes.push_back(test::done(process(0, 1, 1)));
  EXPECT_FALSE(is_completed(seen, worker)) << "another incarnation's word";
  seen.processes.push_back(test::done(process(0, 0, 7)));
  EXPECT_FALSE(is_completed(seen, worker)) << "a process that the job does not have";
  seen.processes.push_back(test::done(process(0, 0, 1)));
  EXPECT_TRUE(is_completed(seen, worker));
}

TEST(IsCompleted, WhenTheLastProcessSaysSoToALeaderThatDidNotHearTheOthers) {
  auto seen = test::running(test::job(1));
  seen.job.spec.processes_per_node = 3;
  seen.processes = {test::done(process(0, 0, 0)), test::done(process(0, 0, 2)),
                    test::heard(process(0, 0, 1))};
  seen.job.status.members = replace_lost(seen, {}, {}).members;
  EXPECT_EQ(seen.job.status.members[0].done, 5U) << "it is stored";
  seen.processes = {test::heard(process(0, 0, 1))};
  EXPECT_FALSE(is_completed(seen, seen.job.status.members[0]));
  seen.processes[0].is_completed = true;
  EXPECT_TRUE(is_completed(seen, seen.job.status.members[0]));
  const auto members = replace_lost(seen, {}, {}).members;
  EXPECT_TRUE(members[0].is_completed);
  EXPECT_EQ(members[0].done, 0U) << "all are";
}

TEST(IsCompleted, TheRecordOfOneOfSeveralCountsOnceTheirLauncherHasSucceeded) {
  auto seen = test::running(test::job(1));
  auto& worker = seen.job.status.members[0];
  worker.uid = seen.pods[0].uid;
  const auto is_with = [&](std::uint32_t processes, std::optional<int> exit_code) {
    seen.job.spec.processes_per_node = processes;
    seen.pods[0].is_completed = true;
    seen.pods[0].exit_code = exit_code;
    return is_completed(seen, worker);
  };
  EXPECT_TRUE(is_with(2, 0));
  EXPECT_FALSE(is_with(2, 137)) << "another one may have been in the middle of its work";
  EXPECT_FALSE(is_with(2, std::nullopt));
  EXPECT_TRUE(is_with(1, 139)) << "what comes after the record of the only one is no matter";
}

TEST(IsCompleted, ARecordCountsWithTheNewestCommitThatIsKnown) {
  auto seen = test::running(test::job(1));
  auto& worker = seen.job.status.members[0];
  worker.uid = seen.pods[0].uid;
  seen.pods[0].is_completed = true;
  seen.pods[0].exit_code = 0;
  const auto is_with = [&](std::uint64_t attempt, std::uint64_t step, const char* digest) {
    seen.pods[0].last_checkpoint = {.attempt = Attempt(attempt), .step = Step(step), .digest = digest};
    return is_completed(seen, worker);
  };
  EXPECT_TRUE(is_with(3, 100, "a")) << "nothing is known";
  seen.job.status.last_checkpoint = {.attempt = Attempt(3), .step = Step(100), .digest = "a"};
  EXPECT_TRUE(is_with(3, 100, "a"));
  EXPECT_TRUE(is_with(3, 110, "c")) << "whose commit nobody has told yet";
  EXPECT_TRUE(is_with(2, 100, "c")) << "an attempt after the end commits no later step";
  EXPECT_FALSE(is_with(2, 80, "c")) << "the run went on from there";
  EXPECT_FALSE(is_with(3, 90, "c")) << "older than what was committed";
  EXPECT_FALSE(is_with(3, 100, "b")) << "another one of that name";
}

struct Loss {
  const char* name;
  void (*change)(Observation&);
  api::Restarts restarts;
  const char* news;
};

TEST(ReplaceLost, MovesAMemberOnAndCountsItOnce) {
  const Loss cases[] = {
      {"killed",
       [](Observation& seen) { seen.pods[1] = test::ended_pod(1, 137); },
       {.disruption = 1},
       "digits-worker-1-i0: ended by signal 9"},
      {"crashed",
       [](Observation& seen) { seen.pods[1] = test::ended_pod(1, 139); },
       {.application = 1},
       "digits-worker-1-i0: crashed with signal 11"},
      {"left with 0 and no word of completion",
       [](Observation& seen) { seen.pods[1] = test::ended_pod(1, 0); },
       {.application = 1},
       "digits-worker-1-i0: exit code 0 without a completion record: its training did not reach its end; a "
       "program that does not call ratoon::train needs a TrainingJob with agent: None"},
      {"being deleted",
       [](Observation& seen) { seen.pods[1].is_deleting = true; },
       {.disruption = 1},
       "digits-worker-1-i0: deleted"},
      {"gone",
       [](Observation& seen) { seen.pods.pop_back(); },
       {.disruption = 1},
       "digits-worker-1-i0: vanished"},
      {"another pod of the same name",
       [](Observation& seen) { seen.pods[1].uid = "other"; },
       {.disruption = 1},
       "digits-worker-1-i0: vanished"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto seen = test::running(test::job(2));
    c.change(seen);
    const auto change = replace_lost(seen, kNobody);
    EXPECT_EQ(change.members[0], seen.job.status.members[0]);
    EXPECT_EQ(change.members[1], member(1, 1));
    EXPECT_EQ(change.restarts, c.restarts);
    EXPECT_EQ(change.fatal_reason, "");
    const auto events = only<EmitEvent>(change.actions);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0], (EmitEvent{.is_warning = true, .reason = "MemberLost", .message = c.news}));
    // With the stored status, the same facts are no news.
    seen.job.status.members = change.members;
    seen.job.status.restarts = change.restarts;
    EXPECT_EQ(replace_lost(seen, kNobody).restarts, change.restarts);
    EXPECT_TRUE(replace_lost(seen, kNobody).actions.empty());
  }
}

TEST(ReplaceLost, AMemberThatComesAgainBeginsBeyondItsFormerPods) {
  auto seen = test::running(test::job(3));
  seen.job.status.members.pop_back();  // the job was smaller for a while
  seen.pods[2] = test::ended_pod(2, 1, 4);
  seen.pods.push_back(test::pod(2, 5));
  seen.pods.back().is_deleting = true;
  const auto change = replace_lost(seen, {});
  EXPECT_EQ(change.members[2].incarnation, 6U);
  EXPECT_TRUE(change.losses.empty());
  EXPECT_EQ(change.restarts, seen.job.status.restarts) << "nobody is lost who was given up";
}

TEST(ReplaceLost, ANameThatAnEarlierJobsPodHoldsIsPassedOver) {
  auto seen = test::running(test::job(2));
  auto& members = seen.job.status.members;
  members[0].uid.clear();
  members[1].successor = 1;
  seen.pods.clear();
  seen.pods.push_back(test::pod(1, 0));
  seen.unusable_pod_names = {"digits-worker-0-i0", "digits-worker-0-i1", "digits-worker-1-i1"};
  const auto change = replace_lost(seen, kNobody);
  EXPECT_EQ(change.members[0].incarnation, 2U);
  EXPECT_EQ(change.members[1].incarnation, 0U) << "who is there stays";
  EXPECT_EQ(change.members[1].successor, 2U);
  EXPECT_TRUE(change.losses.empty());
  EXPECT_EQ(change.restarts, api::Restarts{}) << "it costs nothing";
}

TEST(ReplaceLost, TellsOnWhichNodeAMemberFellSilentThatWasJustSeenThere) {
  auto seen = test::running(test::job(2));
  seen.job.status.members[1].node.clear();
  const auto change = replace_lost(seen, {seen.job.status.members[1]});
  ASSERT_EQ(change.losses.size(), 1U);
  EXPECT_EQ(change.losses[0].member.node, "node-2");
}

TEST(ReplaceLost, TakesSilenceForALoss) {
  const auto seen = test::running(test::job(2));
  const auto change = replace_lost(seen, std::vector{member(1)});
  EXPECT_EQ(change.members[1], member(1, 1));
  EXPECT_EQ(change.restarts, (api::Restarts{.disruption = 1}));
}

TEST(ReplaceLost, KeepsThoseThatCompletedHoweverTheirPodEnded) {
  for (const int code : {0, 1, 82, 137}) {
    auto seen = test::running(test::job(1));
    seen.processes = {test::done(process(0))};
    seen.pods = {test::ended_pod(0, code)};
    auto expected = seen.job.status.members;
    expected[0].is_completed = true;
    EXPECT_EQ(replace_lost(seen, kNobody).members, expected) << code;
    seen.pods.clear();
    EXPECT_EQ(replace_lost(seen, kNobody).members, expected) << "its node is gone";
    // The next operator need not have received it.
    seen.processes.clear();
    seen.job.status.members = expected;
    EXPECT_EQ(replace_lost(seen, kNobody).members, expected) << "the coordinator forgot";
  }
}

TEST(ReplaceLost, AMemberThatIsDoneHasNoSuccessorAnyMore) {
  auto seen = test::running(test::job(1));
  seen.job.status.members[0].successor = 1;
  seen.job.status.members[0].successor_uid = test::uid_of(0, 1);
  seen.processes = {test::done(process(0)), test::waiting(process(0, 1))};
  seen.pods.push_back(test::ended_pod(0, 137, 1));
  const auto change = replace_lost(seen, kNobody);
  EXPECT_TRUE(change.members[0].is_completed);
  EXPECT_FALSE(change.members[0].is_leaving());
  EXPECT_EQ(change.members[0].successor_uid, "");
  EXPECT_EQ(change.restarts, api::Restarts()) << "whatever became of it";
}

TEST(ReplaceLost, ASuccessorThatTakesOverBringsItsPodAlong) {
  auto seen = test::running(test::job(2));
  seen.job.status.members[1].successor = 1;
  seen.pods[1] = test::ended_pod(1, 137);
  seen.pods.push_back(test::pod(1, 1));
  seen.pods.back().node = "node-7";
  const auto change = replace_lost(seen, kNobody);
  EXPECT_EQ(change.members[1].incarnation, 1U);
  EXPECT_EQ(change.members[1].uid, test::uid_of(1, 1));
  EXPECT_EQ(change.members[1].node, "node-7");
}

TEST(ReplaceLost, TellsOnWhichNodeASuccessorFellSilent) {
  auto seen = test::running(test::job(1));
  seen.job.status.members[0].successor = 1;
  seen.job.status.members[0].successor_uid = test::uid_of(0, 1);
  seen.pods.push_back(test::pod(0, 1));
  seen.pods.back().node = "node-7";
  const auto change = replace_lost(seen, {successor_of(seen.job.status.members[0])});
  EXPECT_TRUE(change.losses.empty()) << "the world lost nobody";
  ASSERT_EQ(change.outside_losses.size(), 1U);
  EXPECT_EQ(change.outside_losses[0].member.node, "node-7");
  EXPECT_TRUE(change.outside_losses[0].is_silent);
}

TEST(ReplaceLost, NotesTheUidOfAPodThatWasMade) {
  auto seen = test::running(test::job(1));
  seen.job.status.members[0].uid.clear();
  EXPECT_EQ(replace_lost(seen, kNobody).members[0].uid, test::uid_of(0));
  EXPECT_TRUE(replace_lost(seen, kNobody).actions.empty());
}

TEST(ReplaceLost, WaitsForAPodThatIsNotThereYet) {
  auto seen = test::running(test::new_job(1));
  EXPECT_EQ(replace_lost(seen, kNobody).members, std::vector{member(0)});
}

TEST(ReplaceLost, EndsTheJobForAFatalCodeOrWhenTheBudgetIsUsedUp) {
  auto seen = test::running(test::job(1));
  seen.pods = {test::ended_pod(0, 82)};
  EXPECT_EQ(replace_lost(seen, kNobody).fatal_reason,
            "digits-worker-0-i0: exit code 82 (configuration): the same start would fail again; see the "
            "member's log");
  EXPECT_EQ(replace_lost(seen, kNobody).restarts.application, 1U) << "it is a failure like others";

  seen.pods = {test::ended_pod(0, 1)};
  seen.job.spec.restart_policy.restarts_max = 2;
  seen.job.status.restarts.application = 1;
  EXPECT_EQ(replace_lost(seen, kNobody).fatal_reason, "") << "the second of two";
  seen.job.status.restarts.application = 2;
  EXPECT_EQ(replace_lost(seen, kNobody).fatal_reason,
            "digits-worker-0-i0: exit code 1; maxRestarts (2) is used up");

  seen.pods = {test::ended_pod(0, 137)};
  seen.job.status.restarts.disruption = 1000;
  EXPECT_EQ(replace_lost(seen, kNobody).fatal_reason, "") << "disruptions are free";
}

TEST(ReplaceLost, TellsWhatAFailedProgramSaid) {
  const auto news_of = [](int code, const std::string& last_lines) {
    auto seen = test::running(test::job(1));
    seen.pods = {test::ended_pod(0, code)};
    seen.pods[0].last_lines = last_lines;
    const auto events = only<EmitEvent>(replace_lost(seen, kNobody).actions);
    return events.size() == 1 ? events[0].message.substr(events[0].message.find(": ") + 2) : "";
  };
  EXPECT_EQ(news_of(82, "step 1\nratoon: no folder to save to\n"),
            "exit code 82 (configuration): the same start would fail again; it said: no folder to save to");
  EXPECT_EQ(news_of(82, ""),
            "exit code 82 (configuration): the same start would fail again; see the member's log");
  EXPECT_EQ(news_of(134, "  what():  no such layer\n"), "crashed with signal 6; it said: no such layer");
  EXPECT_EQ(news_of(1, "bye\n"), "exit code 1");
  EXPECT_EQ(news_of(81, "ratoon: bye\n"), "exit code 81 (asks for a fresh start)") << "it did not fail";
  EXPECT_LT(news_of(1, "ratoon: " + std::string(900, 'x')).size(), 400U);
}

TEST(ReconcilePods, MakesWhatIsMissingAndDeletesWhatIsNotNamed) {
  auto seen = test::running(test::job(2));
  const auto actions =
      reconcile_pods(seen, {member(0, 0, test::uid_of(0)), member(1, 1)}, {{.name = "node-9"}}, {"node-8"});
  const auto made = only<CreatePod>(actions);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].pod.name, "digits-worker-1-i1");
  EXPECT_EQ(made[0].pod.incarnation, 1u);
  EXPECT_EQ(test::names_of(made[0].avoid_nodes), std::vector<std::string>{"node-9"});
  EXPECT_EQ(made[0].faulty_nodes, std::vector<std::string>{"node-8"});
  EXPECT_EQ(
      only<DeletePod>(actions),
      std::vector{(DeletePod{.name = "digits-worker-1-i0", .uid = test::uid_of(1), .reason = "superseded"})});
}

TEST(ReconcilePods, LeavesPodsThatAreOnTheirWayOut) {
  auto seen = test::running(test::job(1));
  seen.pods.push_back(test::pod(1));
  seen.pods.back().is_deleting = true;
  EXPECT_TRUE(reconcile_pods(seen, seen.job.status.members, {}, {}).empty());
}

TEST(ReconcilePods, DoesNotMakeAPodAgainThatWasSeen) {
  auto seen = test::running(test::job(1));
  seen.pods.clear();
  EXPECT_TRUE(reconcile_pods(seen, seen.job.status.members, {}, {}).empty())
      << "it is lost first, then the next one is made";
}

// Two members of two roles with the same index, in no order, and a former incarnation of one of them.
Observation mixed() {
  Observation seen{.job = test::job(2)};
  for (const std::uint32_t local_rank : {1U, 0U})
    for (const std::uint32_t index : {1U, 0U}) {
      auto facts = test::heard(test::process(index, 0, local_rank));
      seen.processes.push_back(facts);
      seen.world.push_back(test::seat(facts.identity, index));
      facts.identity.role = "evaluator";
      seen.processes.push_back(facts);
    }
  seen.processes.push_back(test::heard(test::process(1, 1)));
  for (const std::uint32_t index : {1U, 0U, 1U}) seen.pods.push_back(test::pod(index));
  seen.pods[2].uid = "another";
  seen.pods.push_back(test::pod(1, 1));
  return seen;
}

TEST(Lookup, FindsTheSameWithOrderAndWithout) {
  const auto plain = mixed();
  const auto ordered = with_index(plain);
  ASSERT_EQ(ordered.index.processes.size(), plain.processes.size());
  for (const auto* seen : {&plain, &ordered}) {
    const auto& member = seen->job.status.members[1];
    EXPECT_THAT(processes_of(*seen, member), testing::ElementsAre(&seen->processes[0], &seen->processes[4]));
    EXPECT_THAT(assigned_processes_of(*seen, member), testing::ElementsAre(&seen->world[0], &seen->world[2]));
    EXPECT_THAT(pods_of(*seen, member), testing::ElementsAre(&seen->pods[0], &seen->pods[2]))
        << "as they are seen";
    EXPECT_EQ(find_process(*seen, test::process(0, 0, 1)), &seen->processes[2]);
    EXPECT_EQ(find_assigned_process(*seen, test::process(0, 0, 0)), &seen->world[3]);
  }
}

TEST(Lookup, FindsNothingOfAnotherIncarnationRoleOrStart) {
  const auto seen = with_index(mixed());
  auto member = seen.job.status.members[1];
  member.incarnation = 2;
  EXPECT_THAT(processes_of(seen, member), testing::IsEmpty());
  EXPECT_THAT(pods_of(seen, member), testing::IsEmpty());
  member = seen.job.status.members[1];
  member.role = "helper";
  EXPECT_THAT(processes_of(seen, member), testing::IsEmpty());
  auto identity = test::process(0, 0, 0);
  identity.start = "another";
  EXPECT_EQ(find_process(seen, identity), nullptr);
  EXPECT_EQ(find_assigned_process(seen, identity), nullptr);
}

// Otherwise later changes would not be found.
TEST(Lookup, AnOrderOfOtherItemsIsNotUsed) {
  auto seen = with_index(mixed());
  seen.processes.push_back(test::heard(test::process(1, 2)));
  auto member = seen.job.status.members[1];
  member.incarnation = 2;
  EXPECT_THAT(processes_of(seen, member), testing::ElementsAre(&seen.processes.back()));
}

}  // namespace
}  // namespace ratoon::core::roster_test
