#include "operator/core/suspects.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core {
namespace {

WallTime wall(int seconds) {
  return {std::chrono::seconds(seconds)};
}

Loss silent_loss(const std::string& node) {
  return {.member = {.role = "worker", .index = 0, .incarnation = 0, .uid = "u", .node = node},
          .reason = "silent for too long",
          .is_silent = true};
}

Observation at(int seconds) {
  Observation seen{.job = test::job(2)};
  seen.wall_now = wall(seconds);
  return seen;
}

TEST(Suspects, ANodeThatFellSilentIsAvoidedForAWhile) {
  auto seen = at(1000);
  const auto suspects = update_suspects(seen, {silent_loss("node-1")});
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].until, wall(1300));
  seen.job.status.suspect_nodes = suspects;
  seen.wall_now = wall(1299);
  EXPECT_EQ(update_suspects(seen, {}), suspects);
  seen.wall_now = wall(1300);
  EXPECT_TRUE(update_suspects(seen, {}).empty());
}

TEST(Suspects, LossesThatSayNothingAboutANodeDoNotCount) {
  auto crashed = silent_loss("node-1");
  crashed.is_silent = false;
  EXPECT_TRUE(update_suspects(at(0), {crashed}).empty());
  EXPECT_TRUE(update_suspects(at(0), {silent_loss("")}).empty());
  auto seen = at(0);
  seen.job.spec.disruption_policy.avoid_node_seconds = 0;
  EXPECT_TRUE(update_suspects(seen, {silent_loss("node-1")}).empty());
}

TEST(Suspects, TheListIsBoundedAndANodeIsInItOnce) {
  auto seen = at(5);
  for (int i = 0; i < 200; ++i)
    seen.job.status.suspect_nodes = update_suspects(seen, {silent_loss("node-" + std::to_string(i))});
  EXPECT_EQ(seen.job.status.suspect_nodes.size(), 64U);
  EXPECT_EQ(seen.job.status.suspect_nodes.back().name, "node-199");
  seen.wall_now = wall(9);
  EXPECT_EQ(update_suspects(seen, {silent_loss("node-199")}).size(), 64U);
}

TEST(NodesToAvoid, AreSuspectsAndThoseThatWillGo) {
  auto seen = at(0);
  seen.nodes = {{.name = "b", .is_unschedulable = true}, {.name = "c"}};
  EXPECT_EQ(nodes_to_avoid(seen, {{.name = "a", .reason = "", .until = {}}}),
            (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace ratoon::core
