#include "operator/core/wake_time.h"

#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::core::wake_time_test {
namespace {

using test::at_seconds;

WallTime wall_at(int seconds) {
  return {std::chrono::seconds(seconds)};
}

TEST(WakeNoLaterThan, TakesTheEarliestMoment) {
  Decision decision;
  wake_no_later_than(std::nullopt, wall_at(1000), at_seconds(50), decision);
  EXPECT_EQ(decision.wake_at, std::nullopt);
  wake_no_later_than(wall_at(1009), wall_at(1000), at_seconds(50), decision);
  EXPECT_EQ(decision.wake_at, at_seconds(59));
  wake_no_later_than(wall_at(1003), wall_at(1000), at_seconds(50), decision);
  wake_no_later_than(wall_at(1005), wall_at(1000), at_seconds(50), decision);
  EXPECT_EQ(decision.wake_at, at_seconds(53));
}

TEST(WakeNoLaterThan, AMomentInThePastIsNow) {
  Decision decision;
  wake_no_later_than(wall_at(990), wall_at(1000), at_seconds(50), decision);
  EXPECT_EQ(decision.wake_at, at_seconds(50));
}

}  // namespace
}  // namespace ratoon::core::wake_time_test
