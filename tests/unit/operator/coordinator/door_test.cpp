#include "operator/coordinator/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::coordinator::door_test {
namespace {

using test::at_seconds;
using test::process;

api::Announcement announcement(std::uint64_t attempt, std::vector<ProcessIdentity> current,
                               std::vector<api::Seat> world = {}) {
  return {.attempt = Attempt(attempt),
          .world = std::move(world),
          .current = std::move(current),
          .reason = "forming"};
}

ProcessIdentity without_uid(ProcessIdentity process) {
  process.member_uid.clear();
  return process;
}

TEST(DoorsLists, WhoWaitsWithAnOldOneIsToldOnceAndItsNextOneIsNew) {
  Door door;
  auto told = announcement(2, {process(0)});
  door.announce(told);
  door.hear_join(test::join_request(process(0)), at_seconds(10));
  door.hear_join(test::join_request(process(0)), at_seconds(20));
  EXPECT_EQ(door.processes()[0].listed, at_seconds(10)) << "it asks again with the same list";
  EXPECT_FALSE(door.take_wish_for_list(process(0)));
  told.lists_from = at_seconds(10);
  EXPECT_FALSE(door.announce(told)) << "that is new enough";
  told.lists_from = at_seconds(21);
  EXPECT_TRUE(door.announce(told)) << "news for one who waits";
  EXPECT_FALSE(door.announce(told)) << "but once";
  door.hear_join(test::join_request(process(0)), at_seconds(22));
  EXPECT_EQ(door.processes()[0].listed, at_seconds(10)) << "it was not told yet";
  EXPECT_TRUE(door.take_wish_for_list(process(0)));
  EXPECT_FALSE(door.take_wish_for_list(process(0)));
  door.hear_join(test::join_request(process(0)), at_seconds(23));
  EXPECT_EQ(door.processes()[0].listed, at_seconds(23));
  EXPECT_FALSE(door.announce(told));
}

TEST(DoorRefuses, OldIncarnationsAndOtherPodsOfTheSameName) {
  Door door;
  door.announce(announcement(1, {process(0, 2), without_uid(process(1, 0))}));
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
       "digits-worker-0-i1 was replaced by incarnation 2 and may not take part any more"},
      {"the first", process(0, 0),
       "digits-worker-0-i0 was replaced by incarnation 2 and may not take part any more"},
      {"another pod", namesake,
       "digits-worker-0-i2 was replaced by incarnation 2 and may not take part any more"},
      {"a pod whose UID was not noted yet", process(1, 0), ""},
      {"no member", process(2, 0), "the job has no member worker-2"},
      {"no role", judge, "the job has no member judge-0"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto refusal = door.refuse(c.process);
    ASSERT_EQ(refusal.has_value(), *c.sentence != 0);
    EXPECT_EQ(refusal.value_or(Refusal{.kind = "superseded", .message = ""}),
              (Refusal{.kind = "superseded", .message = c.sentence}));
    EXPECT_EQ(door.refuse_join(c.process), refusal);
  }
}

TEST(DoorRefuses, NobodyWhileNothingIsKnown) {
  EXPECT_FALSE(Door().refuse(process(5, 1)).has_value());
}

TEST(DoorRefuses, LocalRanksThatTheJobDoesNotHave) {
  Door door;
  auto said = announcement(1, {process(0)});
  said.processes_per_node = 2;
  door.announce(said);
  EXPECT_EQ(door.refuse(process(0, 0, 1)), std::nullopt);
  const auto refusal = door.refuse(process(0, 0, 2));
  EXPECT_EQ(refusal,
            (Refusal{.kind = "unauthorized",
                     .message = "local ranks of digits-worker-0-i0 are below 2 (processesPerNode), and "
                                "one of local rank 2 speaks: start as many as the job says, or say "
                                "more in the job"}));
  EXPECT_EQ(door.refuse_join(process(0, 0, 2)), refusal);
  EXPECT_TRUE(door.refuse(process(0, 1, 65'536)).has_value()) << "nor has an incarnation to come";

  door.hear_join(test::join_request(process(0, 0, 1)), at_seconds(1));
  said.processes_per_node = 1;
  door.announce(said);
  EXPECT_TRUE(door.processes().empty()) << "a job that was suspended may go on with fewer";
}

TEST(DoorRefuses, LocalRanksThatNoJobHas) {
  Door door;
  EXPECT_TRUE(door.refuse(process(0, 0, 64)).has_value()) << "before anything is known";
  door.announce({.attempt = Attempt(3), .stop = true, .reason = "completed at step 400"});
  EXPECT_FALSE(door.refuse(process(0, 0, 63)).has_value());
  EXPECT_TRUE(door.refuse(process(0, 0, 64)).has_value()) << "after the job is over";
}

TEST(DoorRefuses, ToLetAnybodyWaitOnceTheJobIsOver) {
  Door door;
  door.announce({.attempt = Attempt(3), .stop = true, .reason = "completed at step 400"});
  EXPECT_FALSE(door.refuse(process(0)).has_value()) << "what it still has to say is heard";
  EXPECT_EQ(door.refuse_join(process(0)),
            (Refusal{.kind = "finished", .message = "the job is over: completed at step 400"}));
}

TEST(Door, KeepsTheNewestStartOfEachProcess) {
  Door door;
  door.hear_join(test::join_request(process(0)), at_seconds(1));
  door.hear_beat(test::beat(process(0), 1, 5, 3), at_seconds(2));
  door.hear_beat(test::beat(process(0, 0, 1), 1, 5), at_seconds(2));
  ASSERT_EQ(door.processes().size(), 2u);

  door.hear_beat(test::beat(process(0, 0, 0, "start-2"), 0, 0), at_seconds(3));
  ASSERT_EQ(door.processes().size(), 2u);
  const auto& facts = door.processes()[0];
  EXPECT_EQ(facts.identity.start, "start-2");
  EXPECT_FALSE(facts.waiting.has_value()) << "it was the one before that waited";
  EXPECT_EQ(facts.last_heard, at_seconds(3));
}

// A process that died may have had a beat on the wire; it must not wipe what the next start of it has said.
TEST(DoorRefuses, StartsAfterWhichAnotherOneJoined) {
  const ProcessIdentity older = process(0);
  const ProcessIdentity newer = process(0, 0, 0, "start-2");
  for (const bool beats_first : {false, true}) {
    SCOPED_TRACE(beats_first ? "the newer one beats before it joins" : "the newer one joins at once");
    Door door;
    door.announce(announcement(1, {older}));
    door.hear_beat(test::beat(older, 1, 9, 5), at_seconds(1));
    if (beats_first) door.hear_beat(test::beat(newer, 0, 0), at_seconds(2));
    EXPECT_EQ(door.refuse(older), std::nullopt) << "until a join nothing says which of the two is newer";
    door.hear_join(test::join_request(newer), at_seconds(3));
    EXPECT_EQ(
        door.refuse(older),
        (Refusal{.kind = "superseded",
                 .message = "process 0 of digits-worker-0-i0 was started again, and this start of it may "
                            "not take part any more"}));
    EXPECT_EQ(door.refuse_join(older), door.refuse(older));
    EXPECT_EQ(door.refuse(newer), std::nullopt);
    EXPECT_EQ(door.refuse(process(0, 0, 1)), std::nullopt) << "another process of the same pod";
    EXPECT_TRUE(door.processes()[0].waiting.has_value());
  }
}

// A coordinator that remembers nothing may hear the dead one last.
TEST(DoorRefuses, NoStartBecauseOfABeatAlone) {
  Door door;
  const ProcessIdentity newer = process(0, 0, 0, "start-2");
  door.hear_join(test::join_request(newer), at_seconds(1));
  door.hear_beat(test::beat(process(0), 1, 9, 5), at_seconds(2));
  EXPECT_EQ(door.refuse(newer), std::nullopt);
  door.hear_join(test::join_request(newer), at_seconds(3));
  EXPECT_EQ(door.refuse(newer), std::nullopt);
  EXPECT_TRUE(door.refuse(process(0)).has_value());
  EXPECT_EQ(door.processes()[0].identity, newer);
}

// It may be a late one, of a start before it that was cut off as long as it lived.
TEST(Door, ABeatAloneTakesNoSeatFromAnotherStart) {
  Door door;
  const ProcessIdentity seated = process(0, 0, 0, "start-2");
  door.announce({.attempt = Attempt(1), .world = {test::seat(seated, 0)}, .current = {process(0)}});
  door.hear_beat(test::beat(seated, 1, 5), at_seconds(1));
  EXPECT_FALSE(door.hear_beat(test::beat(process(0), 0, 0, 17), at_seconds(2)));
  ASSERT_EQ(door.processes().size(), 1u);
  EXPECT_EQ(door.processes()[0].identity, seated);
  EXPECT_EQ(door.processes()[0].beat->step, Step(5));
  EXPECT_EQ(door.processes()[0].last_heard, at_seconds(2)) << "its pod lives";
  door.hear_join(test::join_request(process(0)), at_seconds(3));
  EXPECT_EQ(door.processes()[0].identity, process(0)) << "a join takes it";
}

TEST(DoorRefuses, NeitherAMemberNorItsSuccessorAndAllBetweenAndBefore) {
  Door door;
  ProcessIdentity successor = process(0, 3);
  successor.member_uid.clear();  // not seen yet
  door.announce(announcement(4, {process(0, 1), successor}));
  EXPECT_TRUE(door.refuse(process(0, 0)).has_value());
  EXPECT_EQ(door.refuse(process(0, 1)), std::nullopt);
  EXPECT_TRUE(door.refuse(process(0, 2)).has_value()) << "a successor that was lost";
  EXPECT_EQ(door.refuse(process(0, 3)), std::nullopt);
  EXPECT_EQ(door.refuse(process(0, 4)), std::nullopt) << "newer than all we know";
  ProcessIdentity namesake = process(0, 1);
  namesake.member_uid = "other";
  EXPECT_TRUE(door.refuse(namesake).has_value());
}

TEST(Door, KeepsWhatBothIncarnationsSaidUntilOneIsNotNamed) {
  Door door;
  door.announce(announcement(1, {process(0, 0), process(0, 1)}));
  door.hear_beat(test::beat(process(0, 0), 1, 5), at_seconds(1));
  door.hear_join(test::join_request(process(0, 1)), at_seconds(1));
  door.announce(announcement(1, {process(0, 0), process(0, 1)}));
  EXPECT_EQ(door.processes().size(), 2u);
  door.announce(announcement(2, {process(0, 1)}));
  ASSERT_EQ(door.processes().size(), 1u);
  EXPECT_EQ(door.processes()[0].identity, process(0, 1));
}

TEST(Door, ABeatThatWasOvertakenIsASignOfLifeAndNoNews) {
  Door door;
  door.hear_beat(test::beat(process(0), 1, 9, 5), at_seconds(1));
  door.hear_beat(test::beat(process(0), 1, 8, 4), at_seconds(2));
  door.hear_beat(test::beat(process(0), 1, 7, 5), at_seconds(3));
  EXPECT_EQ(door.processes()[0].beat->step, Step(9));
  EXPECT_EQ(door.processes()[0].last_heard, at_seconds(3));
}

TEST(Door, CompletionIsRememberedThroughLaterBeats) {
  Door door;
  door.hear_beat(test::beat(process(0), 4, 399, 1, test::checkpoint(4, 380)), at_seconds(1));
  auto last_word = test::completed(process(0), 4, 400);
  last_word.result[kWeightsResult] = "/data/weights.safetensors";
  door.hear_completed(last_word, at_seconds(2));
  door.hear_beat(test::beat(process(0), 4, 400, 2), at_seconds(3));
  EXPECT_TRUE(door.processes()[0].is_completed);
  EXPECT_EQ(door.processes()[0].weights, "/data/weights.safetensors");
  EXPECT_EQ(door.processes()[0].beat->step, Step(400));
}

TEST(Door, RefusesACompletionThatIsNotWithTheLastCommit) {
  Door door;
  const auto told = [](std::uint64_t attempt, std::uint64_t step, const char* digest) {
    auto entry = test::checkpoint(attempt, step);
    entry.digest = digest;
    return entry;
  };
  const auto refusal_of = [&](std::uint64_t attempt, std::uint64_t step, const char* digest) {
    auto last_word = test::completed(process(1), 4, step);
    last_word.checkpoint = {.attempt = Attempt(attempt), .step = Step(step), .digest = digest};
    const auto refusal = door.refuse_completion(last_word);
    return refusal ? refusal->message : "";
  };
  EXPECT_EQ(refusal_of(4, 400, "a"), "") << "nobody told of anything, as after a change of leader";
  door.hear_beat(test::beat(process(0), 4, 399, 1, told(4, 380, "b")), at_seconds(1));
  EXPECT_EQ(refusal_of(4, 400, "a"), "") << "the beat of its commit may be on its way";
  EXPECT_THAT(refusal_of(4, 370, "a"), testing::HasSubstr("a member told of the commit of step 380"));
  EXPECT_NE(refusal_of(3, 380, "a"), "") << "of the attempt before";
  door.hear_beat(test::beat(process(0), 4, 400, 2, told(4, 400, "a")), at_seconds(2));
  EXPECT_EQ(refusal_of(4, 400, "a"), "");
  EXPECT_NE(refusal_of(4, 400, "b"), "") << "the same step with other bytes";
  door.hear_beat(test::beat(process(0), 5, 500, 3, told(5, 500, "c")), at_seconds(3));
  EXPECT_EQ(refusal_of(4, 400, "b"), "") << "another attempt says nothing";
}

TEST(Door, ForgetsWhatReplacedProcessesSaid) {
  Door door;
  door.hear_completed(test::completed(process(0), 1, 5), at_seconds(1));
  door.hear_join(test::join_request(process(1)), at_seconds(1));
  door.announce(announcement(2, {process(0, 1), process(1, 0)}));
  ASSERT_EQ(door.processes().size(), 1u);
  EXPECT_EQ(door.processes()[0].identity, process(1));
}

TEST(Door, KnowsWhichProcessesWereInAWorld) {
  Door door;
  const auto has_met = [&](std::size_t i) { return door.processes().at(i).has_met; };
  door.hear_join(test::join_request(process(0)), at_seconds(1));
  door.hear_join(test::join_request(process(1), 4), at_seconds(1));
  door.hear_beat(test::beat(process(0), 0, 0), at_seconds(2));
  EXPECT_FALSE(has_met(0));
  EXPECT_FALSE(has_met(1)) << "what it found saved is of processes before it";
  door.announce(announcement(5, {process(0), process(1)}, {test::seat(process(0), 0, 5)}));
  EXPECT_TRUE(has_met(0)) << "it has a seat";
  door.announce(announcement(6, {process(0), process(1)}));
  EXPECT_TRUE(has_met(0));
  EXPECT_FALSE(has_met(1));
  door.hear_beat(test::beat(process(1), 5, 7), at_seconds(3));
  EXPECT_TRUE(has_met(1)) << "a leader before us gave it a seat";
  door.hear_join(test::join_request(process(1, 0, 0, "start-2")), at_seconds(4));
  EXPECT_FALSE(has_met(1)) << "it started anew";
  JoinRequest left = test::join_request(process(1, 0, 0, "start-2"), 6);
  left.has_met = true;
  door.hear_join(left, at_seconds(5));
  EXPECT_TRUE(has_met(1)) << "an operator before us gave it a seat, and it left that world";
}

TEST(TakeSeat, IsForThoseThatWaitForThatAttempt) {
  Door door;
  const auto world = std::vector{test::seat(process(0), 0, 7)};
  door.announce(announcement(7, {process(0), process(1)}, world));
  EXPECT_EQ(door.take_seat(process(0)), std::nullopt) << "it does not wait";

  door.hear_join(test::join_request(process(0), 6), at_seconds(1));
  door.hear_join(test::join_request(process(1), 6), at_seconds(1));
  EXPECT_EQ(door.take_seat(process(1)), std::nullopt) << "it has no seat";
  EXPECT_EQ(door.take_seat(process(0, 0, 0, "start-2")), std::nullopt) << "another start has it";
  EXPECT_EQ(door.take_seat(process(0)), world[0].assignment);
  EXPECT_EQ(door.take_seat(process(0)), std::nullopt) << "it has it now";

  door.hear_join(test::join_request(process(0), 6), at_seconds(2));
  EXPECT_EQ(door.take_seat(process(0)), world[0].assignment) << "the reply was lost: the same seat again";

  door.hear_join(test::join_request(process(0), 7), at_seconds(3));
  EXPECT_EQ(door.take_seat(process(0)), std::nullopt) << "it has left that world";
}

constexpr WallTime kWallNow{std::chrono::hours(1)};

WallTime in(double s) {
  return {kWallNow.since_epoch + from_seconds(s)};
}

TEST(Orders, GetANewRevisionWithAnotherAttemptOrAStopAndNotElse) {
  Door door;
  door.announce(announcement(1, {process(0)}));
  const auto first = door.orders(process(0), kWallNow);
  EXPECT_EQ(first.attempt, Attempt(1));
  door.announce(announcement(1, {process(0)}, {test::seat(process(0), 0, 1, 1)}));
  EXPECT_EQ(door.orders(process(0), kWallNow).revision, first.revision)
      << "a world that is formed is told by join";
  door.announce(announcement(2, {process(0)}));
  EXPECT_EQ(door.orders(process(0), kWallNow).revision, first.revision + 1);
  door.announce({.attempt = Attempt(2), .stop = true, .reason = "over"});
  EXPECT_EQ(door.orders(process(0), kWallNow),
            (Orders{.revision = first.revision + 2, .attempt = Attempt(2), .stop = true, .reason = "over"}));
}

TEST(Orders, SaySaveSoonAndThatAReplacementIsReady) {
  Door door;
  door.announce({.attempt = Attempt(2), .save_request = 3, .hand_over = true, .reason = "node-1 goes"});
  const auto orders = door.orders(process(0), kWallNow);
  EXPECT_EQ(orders.save_request, 3u);
  EXPECT_TRUE(orders.hand_over);
  door.announce({.attempt = Attempt(2), .save_request = 4, .hand_over = true, .reason = "node-1 goes"});
  EXPECT_GT(door.orders(process(0), kWallNow).revision, orders.revision);
}

TEST(Orders, TellEachMemberAloneHowLongItsNodeStays) {
  Door door;
  api::Announcement said{.attempt = Attempt(2),
                         .departures = {{.role = "worker", .index = 1, .incarnation = 2, .at = in(30)}}};
  door.announce(said);
  const auto left = [&](const ProcessIdentity& who, double later = 0) {
    return door.orders(who, in(later)).drain_deadline_seconds;
  };
  EXPECT_EQ(left(process(1, 2)), 30.0);
  EXPECT_EQ(left(process(1, 2), 12.5), 17.5);
  EXPECT_EQ(left(process(1, 2), 40), 0.0) << "it is past, and no codec takes less";
  EXPECT_EQ(left(process(0, 2)), std::nullopt);
  EXPECT_EQ(left(process(1, 3)), std::nullopt) << "its successor is elsewhere";

  const auto revision = door.orders(process(0), kWallNow).revision;
  door.announce(said);
  EXPECT_EQ(door.orders(process(0), kWallNow).revision, revision);
  said.departures.front().at = in(10);
  door.announce(said);
  EXPECT_EQ(door.orders(process(0), kWallNow).revision, revision + 1) << "a poll that is parked hears of it";
  said.departures.clear();
  door.announce(said);
  EXPECT_EQ(left(process(1, 2)), std::nullopt) << "taken back";
}

TEST(Orders, SayThatTheWorldBeforeHung) {
  Door door;
  door.announce({.attempt = Attempt(2)});
  EXPECT_FALSE(door.orders(process(0), kWallNow).hung);
  door.announce({.attempt = Attempt(3), .is_hung = true, .reason = "worker-1 hung"});
  EXPECT_TRUE(door.orders(process(0), kWallNow).hung);
}

}  // namespace
}  // namespace ratoon::coordinator::door_test
