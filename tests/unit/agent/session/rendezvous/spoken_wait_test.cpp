// The moments at which a wait is reported.
#include "agent/src/session/rendezvous/spoken_wait.h"

#include <gtest/gtest.h>

namespace ratoon::session::spoken_wait_test {
namespace {

using std::chrono::seconds;

TEST(SpokenWait, IsSilentForTenSeconds) {
  ManualClock clock;
  SpokenWait wait(clock);
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(9));
  EXPECT_EQ(wait.due(), std::nullopt);
}

TEST(SpokenWait, IsToldAfterTenSecondsAndEachMinute) {
  ManualClock clock;
  SpokenWait wait(clock);
  clock.advance(seconds(10));
  EXPECT_EQ(wait.due(), "10 s");
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(59));
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(1));
  EXPECT_EQ(wait.due(), "70 s");
}

}  // namespace
}  // namespace ratoon::session::spoken_wait_test
