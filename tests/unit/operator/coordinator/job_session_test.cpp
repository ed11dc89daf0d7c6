#include "operator/coordinator/job_session.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::job_session_test {
namespace {

using test::at_seconds;
using test::process;

api::Announcement announcement(std::uint64_t attempt, std::vector<ProcessIdentity> current,
                               std::vector<api::AssignedProcess> world = {}) {
  return {.attempt = Attempt(attempt),
          .world = std::move(world),
          .current = std::move(current),
          .reason = "forming"};
}

ProcessIdentity without_uid(ProcessIdentity process) {
  process.member_uid.clear();
  return process;
}

TEST(JobSessionRefuses, OldIncarnationsAndOtherPodsOfTheSameName) {
  JobSession job_session;
  job_session.announce(announcement(1, {process(0, 2), without_uid(process(1, 0))}));
  ProcessIdentity namesake = process(0, 2);
  namesake.member_uid = "another pod";
  ProcessIdentity judge = process(0, 2);
  judge.role = "judge";
  const struct {
    const char* name;
    ProcessIdentity process;
    const char* sentence;  // empty: welcome
  } cases[] = {
      {"the current one", process(0, 2), ""},
      {"a second start of it", process(0, 2, 0, "start-2"), ""},
      {"one that the operator has not announced yet", process(0, 3), ""},
      {"the one before", process(0, 1),
       "digits-worker-0-i1 was replaced by incarnation 2 and may no longer take part"},
      {"the first", process(0, 0),
       "digits-worker-0-i0 was replaced by incarnation 2 and may no longer take part"},
      {"another pod", namesake,
       "digits-worker-0-i2 was replaced by incarnation 2 and may no longer take part"},
      {"a pod whose UID was not noted yet", process(1, 0), ""},
      {"no member", process(2, 0), "the job has no member worker-2"},
      {"no role", judge, "the job has no member judge-0"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto refusal = job_session.refuse(c.process);
    ASSERT_EQ(refusal.has_value(), *c.sentence != 0);
    EXPECT_EQ(refusal.value_or(Refusal{.kind = "superseded", .message = ""}),
              (Refusal{.kind = "superseded", .message = c.sentence}));
    EXPECT_EQ(job_session.find_join_refusal(c.process), refusal);
  }
}

TEST(JobSessionRefuses, NobodyWhileNothingIsKnown) {
  EXPECT_FALSE(JobSession().refuse(process(5, 1)).has_value());
}

TEST(JobSessionRefuses, LocalRanksThatTheJobDoesNotHave) {
  JobSession job_session;
  auto said = announcement(1, {process(0)});
  said.processes_per_node = 2;
  job_session.announce(said);
  EXPECT_EQ(job_session.refuse(process(0, 0, 1)), std::nullopt);
  const auto refusal = job_session.refuse(process(0, 0, 2));
  EXPECT_EQ(refusal,
            (Refusal{.kind = "unauthorized",
                     .message = "local ranks of digits-worker-0-i0 must be below 2 (processesPerNode), but "
                                "a process with local rank 2 called: start as many processes as the job "
                                "says, or raise processesPerNode"}));
  EXPECT_EQ(job_session.find_join_refusal(process(0, 0, 2)), refusal);
  EXPECT_TRUE(job_session.refuse(process(0, 1, 65'536)).has_value()) << "nor has an incarnation to come";

  job_session.record_join(test::join_request(process(0, 0, 1)), at_seconds(1));
  said.processes_per_node = 1;
  job_session.announce(said);
  EXPECT_TRUE(job_session.processes().empty()) << "a job that was suspended may go on with fewer";
}

TEST(JobSessionRefuses, LocalRanksThatNoJobHas) {
  JobSession job_session;
  EXPECT_TRUE(job_session.refuse(process(0, 0, 64)).has_value()) << "before anything is known";
  job_session.announce({.attempt = Attempt(3), .stop = true, .reason = "completed at step 400"});
  EXPECT_FALSE(job_session.refuse(process(0, 0, 63)).has_value());
  EXPECT_TRUE(job_session.refuse(process(0, 0, 64)).has_value()) << "after the job is over";
}

TEST(JobSessionRefuses, ToLetAnybodyWaitOnceTheJobIsOver) {
  JobSession job_session;
  job_session.announce({.attempt = Attempt(3), .stop = true, .reason = "completed at step 400"});
  EXPECT_FALSE(job_session.refuse(process(0)).has_value()) << "what it still has to say is heard";
  EXPECT_EQ(job_session.find_join_refusal(process(0)),
            (Refusal{.kind = "finished", .message = "the job is over: completed at step 400"}));
}

TEST(JobSession, KeepsTheNewestStartOfEachProcess) {
  JobSession job_session;
  job_session.record_join(test::join_request(process(0)), at_seconds(1));
  job_session.record_beat(test::beat(process(0), 1, 5, 3), at_seconds(2));
  job_session.record_beat(test::beat(process(0, 0, 1), 1, 5), at_seconds(2));
  ASSERT_EQ(job_session.processes().size(), 2u);

  job_session.record_beat(test::beat(process(0, 0, 0, "start-2"), 0, 0), at_seconds(3));
  ASSERT_EQ(job_session.processes().size(), 2u);
  const auto& facts = job_session.processes()[0];
  EXPECT_EQ(facts.identity.start, "start-2");
  EXPECT_FALSE(facts.join_request.has_value()) << "it was the one before that waited";
  EXPECT_EQ(facts.last_heard, at_seconds(3));
}

// A process that died may have had a beat on the wire; it must not erase the facts of the process's next
// start.
TEST(JobSessionRefuses, StartsAfterWhichAnotherOneJoined) {
  const ProcessIdentity older = process(0);
  const ProcessIdentity newer = process(0, 0, 0, "start-2");
  for (const bool beats_first : {false, true}) {
    SCOPED_TRACE(beats_first ? "the newer one beats before it joins" : "the newer one joins at once");
    JobSession job_session;
    job_session.announce(announcement(1, {older}));
    job_session.record_beat(test::beat(older, 1, 9, 5), at_seconds(1));
    if (beats_first) job_session.record_beat(test::beat(newer, 0, 0), at_seconds(2));
    EXPECT_EQ(job_session.refuse(older), std::nullopt)
        << "until a join nothing says which of the two is newer";
    job_session.record_join(test::join_request(newer), at_seconds(3));
    EXPECT_EQ(job_session.refuse(older),
              (Refusal{.kind = "superseded",
                       .message = "process 0 of digits-worker-0-i0 was started again, and this earlier start "
                                  "of it may no longer take part"}));
    EXPECT_EQ(job_session.find_join_refusal(older), job_session.refuse(older));
    EXPECT_EQ(job_session.refuse(newer), std::nullopt);
    EXPECT_EQ(job_session.refuse(process(0, 0, 1)), std::nullopt) << "another process of the same pod";
    EXPECT_TRUE(job_session.processes()[0].join_request.has_value());
  }
}

// A new coordinator may receive the dead process's message last.
TEST(JobSessionRefuses, NoStartBecauseOfABeatAlone) {
  JobSession job_session;
  const ProcessIdentity newer = process(0, 0, 0, "start-2");
  job_session.record_join(test::join_request(newer), at_seconds(1));
  job_session.record_beat(test::beat(process(0), 1, 9, 5), at_seconds(2));
  EXPECT_EQ(job_session.refuse(newer), std::nullopt);
  job_session.record_join(test::join_request(newer), at_seconds(3));
  EXPECT_EQ(job_session.refuse(newer), std::nullopt);
  EXPECT_TRUE(job_session.refuse(process(0)).has_value());
  EXPECT_EQ(job_session.processes()[0].identity, newer);
}

// It may be a late one, of an earlier start that was cut off as long as it lived.
TEST(JobSession, ABeatAloneTakesNoSeatFromAnotherStart) {
  JobSession job_session;
  const ProcessIdentity seated = process(0, 0, 0, "start-2");
  job_session.announce({.attempt = Attempt(1), .world = {test::seat(seated, 0)}, .current = {process(0)}});
  job_session.record_beat(test::beat(seated, 1, 5), at_seconds(1));
  EXPECT_FALSE(job_session.record_beat(test::beat(process(0), 0, 0, 17), at_seconds(2)));
  ASSERT_EQ(job_session.processes().size(), 1u);
  ASSERT_EQ(job_session.processes()[0].identity, seated);
  EXPECT_EQ(job_session.processes()[0].beat->step, Step(5));
  EXPECT_EQ(job_session.processes()[0].last_heard, at_seconds(1)) << "it may have been sent long ago";
  job_session.record_join(test::join_request(process(0)), at_seconds(3));
  EXPECT_EQ(job_session.processes()[0].identity, process(0)) << "a join takes it";
}

TEST(JobSessionRefuses, NeitherAMemberNorItsSuccessorAndAllBetweenAndBefore) {
  JobSession job_session;
  ProcessIdentity successor = process(0, 3);
  successor.member_uid.clear();  // not seen yet
  job_session.announce(announcement(4, {process(0, 1), successor}));
  EXPECT_TRUE(job_session.refuse(process(0, 0)).has_value());
  EXPECT_EQ(job_session.refuse(process(0, 1)), std::nullopt);
  EXPECT_TRUE(job_session.refuse(process(0, 2)).has_value()) << "a successor that was lost";
  EXPECT_EQ(job_session.refuse(process(0, 3)), std::nullopt);
  EXPECT_EQ(job_session.refuse(process(0, 4)), std::nullopt) << "newer than all we know";
  ProcessIdentity namesake = process(0, 1);
  namesake.member_uid = "other";
  EXPECT_TRUE(job_session.refuse(namesake).has_value());
}

TEST(JobSession, KeepsWhatBothIncarnationsSaidUntilOneIsNotNamed) {
  JobSession job_session;
  job_session.announce(announcement(1, {process(0, 0), process(0, 1)}));
  job_session.record_beat(test::beat(process(0, 0), 1, 5), at_seconds(1));
  job_session.record_join(test::join_request(process(0, 1)), at_seconds(1));
  job_session.announce(announcement(1, {process(0, 0), process(0, 1)}));
  EXPECT_EQ(job_session.processes().size(), 2u);
  job_session.announce(announcement(2, {process(0, 1)}));
  ASSERT_EQ(job_session.processes().size(), 1u);
  EXPECT_EQ(job_session.processes()[0].identity, process(0, 1));
}

TEST(JobSession, ABeatThatWasOvertakenIsNeitherASignOfLifeNorNews) {
  JobSession job_session;
  job_session.record_beat(test::beat(process(0), 1, 9, 5), at_seconds(1));
  job_session.record_beat(test::beat(process(0), 1, 8, 4), at_seconds(2));
  job_session.record_beat(test::beat(process(0), 1, 7, 5), at_seconds(3));
  EXPECT_EQ(job_session.processes()[0].beat->step, Step(9));
  EXPECT_EQ(job_session.processes()[0].last_heard, at_seconds(1));
}

TEST(JobSession, ForgetsWhatReplacedProcessesSaid) {
  JobSession job_session;
  job_session.record_completed(test::completed(process(0), 1, 5), at_seconds(1));
  job_session.record_join(test::join_request(process(1)), at_seconds(1));
  job_session.announce(announcement(2, {process(0, 1), process(1, 0)}));
  ASSERT_EQ(job_session.processes().size(), 1u);
  EXPECT_EQ(job_session.processes()[0].identity, process(1));
}

TEST(JobSession, KnowsWhichProcessesWereInAWorld) {
  JobSession job_session;
  const auto has_been_in_world = [&](std::size_t i) {
    return job_session.processes().at(i).has_been_in_world;
  };
  job_session.record_join(test::join_request(process(0)), at_seconds(1));
  job_session.record_join(test::join_request(process(1), 4), at_seconds(1));
  job_session.record_beat(test::beat(process(0), 0, 0), at_seconds(2));
  EXPECT_FALSE(has_been_in_world(0));
  EXPECT_FALSE(has_been_in_world(1)) << "what it found saved is of processes before it";
  job_session.announce(announcement(5, {process(0), process(1)}, {test::seat(process(0), 0, 5)}));
  EXPECT_TRUE(has_been_in_world(0)) << "it has a seat";
  job_session.announce(announcement(6, {process(0), process(1)}));
  EXPECT_TRUE(has_been_in_world(0));
  EXPECT_FALSE(has_been_in_world(1));
  job_session.record_beat(test::beat(process(1), 5, 7), at_seconds(3));
  EXPECT_TRUE(has_been_in_world(1)) << "a leader before us gave it a seat";
  job_session.record_join(test::join_request(process(1, 0, 0, "start-2")), at_seconds(4));
  EXPECT_FALSE(has_been_in_world(1)) << "it started anew";
  JoinRequest left = test::join_request(process(1, 0, 0, "start-2"), 6);
  left.has_been_in_world = true;
  job_session.record_join(left, at_seconds(5));
  EXPECT_TRUE(has_been_in_world(1)) << "an operator before us gave it a seat, and it left that world";
}

TEST(TakeSeat, IsForThoseThatWaitForThatAttempt) {
  JobSession job_session;
  const auto world = std::vector{test::seat(process(0), 0, 7)};
  job_session.announce(announcement(7, {process(0), process(1)}, world));
  EXPECT_EQ(job_session.take_assignment(process(0)), std::nullopt) << "it does not wait";

  job_session.record_join(test::join_request(process(0), 6), at_seconds(1));
  job_session.record_join(test::join_request(process(1), 6), at_seconds(1));
  EXPECT_EQ(job_session.take_assignment(process(1)), std::nullopt) << "it has no seat";
  EXPECT_EQ(job_session.take_assignment(process(0, 0, 0, "start-2")), std::nullopt) << "another start has it";
  EXPECT_EQ(job_session.take_assignment(process(0)), world[0].assignment);
  EXPECT_EQ(job_session.take_assignment(process(0)), std::nullopt) << "it has it now";

  job_session.record_join(test::join_request(process(0), 6), at_seconds(2));
  EXPECT_EQ(job_session.take_assignment(process(0)), world[0].assignment)
      << "the reply was lost: the same seat again";

  job_session.record_join(test::join_request(process(0), 7), at_seconds(3));
  EXPECT_EQ(job_session.take_assignment(process(0)), std::nullopt) << "it has left that world";
}

// Its connection was cut since it began to wait: its world has had no time to make a step yet.
TEST(TakeSeat, IsAMoveOfItsWorld) {
  JobSession job_session;
  job_session.record_join(test::join_request(process(0), 6), at_seconds(1));
  job_session.announce(announcement(7, {process(0)}, {test::seat(process(0), 0, 7)}));
  job_session.record_join(test::join_request(process(0), 6), at_seconds(30));
  EXPECT_TRUE(job_session.take_assignment(process(0)));
  EXPECT_EQ(job_session.processes().front().last_progress_at, at_seconds(30));
}

constexpr WallTime kWallNow{std::chrono::hours(1)};

WallTime in(double s) {
  return {kWallNow.since_epoch + from_seconds(s)};
}

TEST(Orders, GetANewRevisionWithAnotherAttemptOrAStopAndNotElse) {
  JobSession job_session;
  job_session.announce(announcement(1, {process(0)}));
  const auto first = job_session.orders(process(0), kWallNow);
  EXPECT_EQ(first.attempt, Attempt(1));
  job_session.announce(announcement(1, {process(0)}, {test::seat(process(0), 0, 1, 1)}));
  EXPECT_EQ(job_session.orders(process(0), kWallNow).revision, first.revision)
      << "a world that is formed is told by join";
  job_session.announce(announcement(2, {process(0)}));
  EXPECT_EQ(job_session.orders(process(0), kWallNow).revision, first.revision + 1);
  job_session.announce({.attempt = Attempt(2), .stop = true, .reason = "over"});
  EXPECT_EQ(job_session.orders(process(0), kWallNow),
            (Orders{.revision = first.revision + 2, .attempt = Attempt(2), .stop = true, .reason = "over"}));
}

TEST(Orders, SaySaveSoonAndThatAReplacementIsReady) {
  JobSession job_session;
  job_session.announce(
      {.attempt = Attempt(2), .save_request = 3, .hand_over = true, .reason = "node-1 goes"});
  const auto orders = job_session.orders(process(0), kWallNow);
  EXPECT_EQ(orders.save_request, 3u);
  EXPECT_TRUE(orders.hand_over);
  job_session.announce(
      {.attempt = Attempt(2), .save_request = 4, .hand_over = true, .reason = "node-1 goes"});
  EXPECT_GT(job_session.orders(process(0), kWallNow).revision, orders.revision);
}

TEST(Orders, TellEachMemberAloneHowLongItsNodeStays) {
  JobSession job_session;
  api::Announcement said{.attempt = Attempt(2),
                         .departures = {{.role = "worker", .index = 1, .incarnation = 2, .at = in(30)}}};
  job_session.announce(said);
  const auto left = [&](const ProcessIdentity& who, double later = 0) {
    return job_session.orders(who, in(later)).drain_deadline_seconds;
  };
  EXPECT_EQ(left(process(1, 2)), 30.0);
  EXPECT_EQ(left(process(1, 2), 12.5), 17.5);
  EXPECT_EQ(left(process(1, 2), 40), 0.0) << "it is past, and no codec takes less";
  EXPECT_EQ(left(process(0, 2)), std::nullopt);
  EXPECT_EQ(left(process(1, 3)), std::nullopt) << "its successor is elsewhere";

  const auto revision = job_session.orders(process(0), kWallNow).revision;
  job_session.announce(said);
  EXPECT_EQ(job_session.orders(process(0), kWallNow).revision, revision);
  said.departures.front().at = in(10);
  job_session.announce(said);
  EXPECT_EQ(job_session.orders(process(0), kWallNow).revision, revision + 1)
      << "a poll that is parked hears of it";
  said.departures.clear();
  job_session.announce(said);
  EXPECT_EQ(left(process(1, 2)), std::nullopt) << "taken back";
}

TEST(Orders, SayThatTheWorldBeforeHung) {
  JobSession job_session;
  job_session.announce({.attempt = Attempt(2)});
  EXPECT_FALSE(job_session.orders(process(0), kWallNow).hung);
  job_session.announce({.attempt = Attempt(3), .is_hung = true, .reason = "worker-1 hung"});
  EXPECT_TRUE(job_session.orders(process(0), kWallNow).hung);
}

// A hostile pod may send any number of starts.
TEST(SupersededStarts, OnlyTheNewestOfAProcessAreRemembered) {
  SupersededStarts starts;
  starts.add(process(1, 0, 0, "other"));
  for (int i = 0; i < 10'000; ++i) starts.add(process(0, 0, 0, "start-" + std::to_string(i)));
  EXPECT_TRUE(starts.supersede_other_starts(process(0, 0, 0, "newest")));
  EXPECT_TRUE(starts.is_superseded(process(0, 0, 0, "start-9999")));
  EXPECT_FALSE(starts.is_superseded(process(0, 0, 0, "start-0"))) << "its messages have arrived by now";
  EXPECT_FALSE(starts.is_superseded(process(1, 0, 0, "other")));
  EXPECT_TRUE(starts.supersede_other_starts(process(1, 0, 0, "newest")));
  EXPECT_TRUE(starts.is_superseded(process(1, 0, 0, "other")));
  EXPECT_FALSE(starts.supersede_other_starts(process(1, 0, 0, "newest"))) << "this is known";
}

}  // namespace
}  // namespace ratoon::coordinator::job_session_test
