#include "operator/core/world/gang.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core::gang_test {
namespace {

using test::process;

bool is_intact(const Observation& seen) {
  return core::is_intact(seen, seen.job.status.members);
}
Gang gather_joiners(const Observation& seen) {
  return core::gather_joiners(seen, seen.job.status.members);
}

TEST(IsIntact, WhenEveryProcessHoldsItsSeat) {
  EXPECT_TRUE(is_intact(test::running(test::job(3))));
}

TEST(IsIntact, WhileAProcessHasNotTakenItsSeatYet) {
  auto seen = test::running(test::job(2));
  seen.processes[1] = test::waiting(process(1), 0);
  EXPECT_TRUE(is_intact(seen));
}

TEST(IsIntact, WhenTheOthersHaveCompleted) {
  auto seen = test::running(test::job(2));
  seen.processes[0].is_completed = true;
  EXPECT_TRUE(is_intact(seen));
}

TEST(IsIntact, NotWhenSomebodyIsMissingOrElsewhere) {
  struct Case {
    const char* name;
    void (*change)(Observation&);
  };
  const Case cases[] = {
      {"no world was handed out", [](Observation& seen) { seen.world.clear(); }},
      {"a process was never heard", [](Observation& seen) { seen.processes.pop_back(); }},
      {"a process left its seat",
       [](Observation& seen) { seen.processes[1] = test::waiting(process(1), 1); }},
      {"a process started anew in its pod",
       [](Observation& seen) { seen.processes[1] = test::waiting(process(1, 0, 0, "start-2")); }},
      {"a member was replaced", [](Observation& seen) { seen.job.status.members[1].incarnation = 1; }},
      {"a pod of the same name is another one",
       [](Observation& seen) { seen.job.status.members[1].uid = "new"; }},
      {"a member was added",
       [](Observation& seen) {
         seen.job.status.members.push_back(
             {.role = "worker", .index = 2, .incarnation = 0, .uid = test::uid_of(2)});
       }},
      {"a member was taken away", [](Observation& seen) { seen.job.status.members.pop_back(); }},
      {"a second process belongs to each member",
       [](Observation& seen) { seen.job.spec.processes_per_node = 2; }},
      {"the world is of an attempt before", [](Observation& seen) { seen.job.status.attempt = Attempt(2); }},
  };
  for (const auto& c : cases) {
    auto seen = test::running(test::job(2));
    c.change(seen);
    EXPECT_FALSE(is_intact(seen)) << c.name;
  }
}

// After a change of leader: the status says that the world exists, and its seats are unknown.
Observation forgotten() {
  auto seen = test::running(test::job(2));
  seen.world.clear();
  for (std::uint32_t i = 0; i < 2; ++i) seen.processes[i].beat = test::beat(process(i), 1, 5);
  return seen;
}

TEST(IsIntact, WhenTheWorldIsForgottenAndItsMembersStillBeatInIt) {
  auto seen = forgotten();
  EXPECT_TRUE(is_intact(seen));
  seen.processes.pop_back();
  EXPECT_TRUE(is_intact(seen)) << "one was not heard yet; how long that may last is not judged here";
  seen.processes.clear();
  EXPECT_TRUE(is_intact(seen));
}

TEST(IsIntact, NotWhenTheWorldIsForgottenAndOneIsElsewhere) {
  auto seen = forgotten();
  seen.processes[1] = test::waiting(process(1), 1);
  EXPECT_FALSE(is_intact(seen)) << "it waits";
  seen.processes[1].beat = test::beat(process(1), 1, 5);
  EXPECT_FALSE(is_intact(seen)) << "it waits, and beat before";
  seen = forgotten();
  seen.processes[1].beat = test::beat(process(1), 0, 0);
  EXPECT_FALSE(is_intact(seen)) << "it is in no world";
  seen.processes[1].beat.reset();
  EXPECT_FALSE(is_intact(seen)) << "nothing says that it is in the world";
  seen = forgotten();
  seen.job.status.is_world_formed = false;
  EXPECT_FALSE(is_intact(seen)) << "there was none";
}

TEST(Gather, NeedsNobodyOfAMemberThatIsKnownToBeDone) {
  auto seen = test::running(test::job(2));
  seen.job.status.members[0].is_completed = true;
  seen.processes = {test::waiting(process(1))};
  EXPECT_TRUE(gather_joiners(seen).is_complete()) << "although no process stores its messages";
}

TEST(Gather, NeedsNoProcessThatWasDoneBeforeANewLeaderListened) {
  auto seen = test::running(test::job(1));
  seen.job.spec.processes_per_node = 2;
  seen.job.status.members[0].done = 1;
  seen.processes = {test::waiting(process(0, 0, 1))};
  EXPECT_TRUE(gather_joiners(seen).is_complete());
  EXPECT_TRUE(is_ready(seen, seen.job.status.members[0]));
  seen.processes.push_back(test::heard(process(0, 0, 0)));
  EXPECT_FALSE(gather_joiners(seen).is_complete()) << "it was started anew";
  EXPECT_FALSE(is_ready(seen, seen.job.status.members[0]));
}

TEST(Gather, CountsThoseThatWaitAgainstThoseThatAreNeeded) {
  auto seen = test::running(test::job(3));
  seen.processes = {test::waiting(process(2)), test::waiting(process(0)), test::heard(process(1))};
  const Gang gang = gather_joiners(seen);
  EXPECT_EQ(gang.needed, 3u);
  EXPECT_FALSE(gang.is_complete());
  ASSERT_EQ(gang.joiners.size(), 2u);
  EXPECT_EQ(gang.joiners[0].process, process(0)) << "in the order of members, not of arrival";
  EXPECT_EQ(gang.joiners[1].process, process(2));
}

TEST(Gather, LeavesOutOldIncarnationsOtherPodsAndThoseThatCompleted) {
  auto seen = test::running(test::job(2));
  seen.job.status.members[0] = {.role = "worker", .index = 0, .incarnation = 1, .uid = test::uid_of(0, 1)};
  ProcessIdentity namesake = process(0, 1);
  namesake.member_uid = "a pod that was deleted and made again";
  seen.processes = {test::waiting(process(0, 0)), test::waiting(namesake), test::done(process(1))};
  const Gang gang = gather_joiners(seen);
  EXPECT_EQ(gang.needed, 1u);
  EXPECT_TRUE(gang.joiners.empty());
}

// Before a pod was seen, a message in its name may come from a former pod.
TEST(Gather, TakesNobodyOfAPodThatWasNotSeenYet) {
  auto seen = test::running(test::job(1));
  seen.job.status.members[0].uid.clear();
  seen.processes = {test::waiting(process(0))};
  EXPECT_TRUE(gather_joiners(seen).joiners.empty());
}

TEST(AssignSeats, GivesRanksInOrderAndOneAddressToAll) {
  Gang gang{.joiners = {test::join_request(process(0, 0, 0)), test::join_request(process(0, 0, 1)),
                        test::join_request(process(1, 0, 0))},
            .needed = 3};
  gang.joiners[0].threads = 4;
  gang.joiners[1].threads = 8;
  const auto resume = test::resume_point(6, 1200);
  const auto seats = assign_ranks(gang, Attempt(7), 0.5, resume);
  ASSERT_EQ(seats.size(), 3u);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(seats[rank].process, gang.joiners[rank].process);
    EXPECT_EQ(seats[rank].assignment, (Assignment{.attempt = Attempt(7),
                                                  .rank = Rank(rank),
                                                  .world_size = 3,
                                                  .rendezvous = gang.joiners[0].address,
                                                  .resume = resume,
                                                  .beat_seconds = 0.5,
                                                  .threads = 4}));
  }
}

}  // namespace
}  // namespace ratoon::core::gang_test
