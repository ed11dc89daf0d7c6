#include "operator/runtime/scheduling/round_robin_queue.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::runtime::turn_lines_test {
namespace {

using Words = std::vector<std::string>;

Words take_all(RoundRobinQueue<std::string>& lines) {
  Words taken;
  while (auto next = lines.take()) taken.push_back(*next);
  return taken;
}

TEST(RoundRobinQueue, OwnersTakeTurns) {
  RoundRobinQueue<std::string> lines(100);
  for (const char* item : {"a1", "a2", "a3"}) lines.push("a", item);
  lines.push("b", "b1");
  EXPECT_EQ(lines.take(), "a1");
  lines.push("c", "c1");
  EXPECT_EQ(take_all(lines), (Words{"b1", "a2", "c1", "a3"}));
  EXPECT_TRUE(lines.is_empty());
}

TEST(RoundRobinQueue, BeyondTheLimitTheOwnerWithTheMostItemsLosesItsOldest) {
  RoundRobinQueue<std::string> lines(4);
  for (const char* item : {"a1", "a2", "a3"}) EXPECT_EQ(lines.push("a", item), std::nullopt);
  EXPECT_EQ(lines.push("b", "b1"), std::nullopt);
  EXPECT_EQ(lines.push("c", "c1"), "a1");
  EXPECT_EQ(lines.size(), 4U);
  EXPECT_EQ(take_all(lines), (Words{"b1", "a2", "c1", "a3"}));
}

TEST(RoundRobinQueue, AnOwnerThatMayNotPassKeepsItsTurn) {
  RoundRobinQueue<std::string> lines(4);
  lines.push("a", "a1");
  lines.push("b", "b1");
  EXPECT_EQ(lines.take([](const std::string& owner) { return owner != "a"; }), "b1");
  EXPECT_EQ(lines.take([](const std::string& owner) { return owner != "a"; }), std::nullopt);
  lines.push("b", "b2");
  EXPECT_EQ(take_all(lines), (Words{"a1", "b2"}));
}

TEST(RoundRobinQueue, AnItemThatIsPutBackIsTheFirstOfItsOwner) {
  RoundRobinQueue<std::string> lines(2);
  lines.push("a", "a2");
  lines.push("b", "b1");
  lines.push_front("a", "a1");
  EXPECT_EQ(take_all(lines), (Words{"a1", "b1", "a2"}));
}

}  // namespace
}  // namespace ratoon::runtime::turn_lines_test
