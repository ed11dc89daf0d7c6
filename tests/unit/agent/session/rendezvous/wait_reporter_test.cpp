// The moments at which a wait is reported.
#include "agent/src/session/rendezvous/wait_reporter.h"

#include <gtest/gtest.h>

namespace ratoon::session::wait_reporter_test {
namespace {

using std::chrono::seconds;

TEST(WaitReporter, IsSilentForTenSeconds) {
  ManualClock clock;
  WaitReporter wait(clock);
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(9));
  EXPECT_EQ(wait.due(), std::nullopt);
}

TEST(WaitReporter, IsToldAfterTenSecondsAndEachMinute) {
  ManualClock clock;
  WaitReporter wait(clock);
  clock.advance(seconds(10));
  EXPECT_EQ(wait.due(), "10 s");
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(59));
  EXPECT_EQ(wait.due(), std::nullopt);
  clock.advance(seconds(1));
  EXPECT_EQ(wait.due(), "70 s");
}

}  // namespace
}  // namespace ratoon::session::wait_reporter_test
