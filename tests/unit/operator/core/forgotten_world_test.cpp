// Members of worlds of which this operator process knows no assignment.
#include <gtest/gtest.h>

#include "operator/core/loss/silence.h"
#include "tests/support/operator_builders.h"

namespace ratoon::core::forgotten_world_test {
namespace {

using test::at_seconds;

std::vector<std::uint32_t> lost_now(const Observation& seen) {
  std::vector<std::uint32_t> indices;
  for (const auto& member : find_silent_members(seen, at_seconds(100)).lost) indices.push_back(member.index);
  return indices;
}
using Members = std::vector<std::uint32_t>;

// The status of a new world was stored, and the operator sent no assignment: the answer to its write was
// lost.
TEST(FindSilent, AProcessThatAsksToJoinIsStillStartingInAForgottenWorld) {
  auto seen = test::running(test::job(3));
  for (auto& process : seen.processes) process.last_heard = at_seconds(100);
  seen.processes[1].last_heard = at_seconds(96);
  seen.world.clear();
  EXPECT_EQ(lost_now(seen), Members({1})) << "it does not ask to join, so it is in the world";
  seen.processes[1] = test::waiting(test::process(1), 0, {}, 96);
  EXPECT_EQ(lost_now(seen), Members());
  EXPECT_EQ(find_silent_members(seen, at_seconds(100)).quiet_processes.size(), 1U)
      << "and no world forms with it";
  seen.processes[1].has_been_in_world = true;
  EXPECT_EQ(lost_now(seen), Members({1})) << "it was in a world before";
}

// The leader changed in a recovery, and a member froze before it sent a message to the new leader.
TEST(FindSilent, AMemberOfTheLastWorldIsMissedByANewLeaderWhileTheNextWorldForms) {
  auto seen = test::running(test::job(3));
  seen.world.clear();
  seen.job.status.is_world_formed = false;
  seen.listening_since = at_seconds(97);
  for (auto& process : seen.processes) process.last_heard = at_seconds(100);
  seen.processes.erase(seen.processes.begin() + 1);
  EXPECT_EQ(lost_now(seen), Members()) << "it may be starting";
  for (auto& member : seen.job.status.members) member.has_been_in_world = true;
  EXPECT_EQ(lost_now(seen), Members({1}));
  seen.listening_since = at_seconds(97.1);
  EXPECT_EQ(lost_now(seen), Members()) << "the operator has not listened for long enough";
  seen.listening_since = at_seconds(97);
  seen.job.status.members[1].is_absent = true;
  EXPECT_EQ(lost_now(seen), Members()) << "no world needs it";
}

}  // namespace
}  // namespace ratoon::core::forgotten_world_test
