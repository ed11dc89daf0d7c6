#include "agent/src/session/rendezvous/world_wait.h"

#include <gtest/gtest.h>

namespace ratoon::session::world_wait_test {
namespace {

using namespace std::chrono_literals;

Timestamp at(Duration time) {
  return Timestamp{.since_boot = time};
}

TEST(WorldWait, AMinuteWithoutACoordinatorCostsFewLooks) {
  WorldWait wait(10s);
  Duration passed{0};
  int looks = 0;
  for (Duration before{0}; passed < 60s; ++looks) {
    const Duration pause = wait.pause_after_failure();
    EXPECT_GE(pause, before);
    EXPECT_EQ(looks == 0, pause == 200ms);
    before = pause;
    passed += pause;
  }
  EXPECT_LE(looks, 12);
  for (int i = 0; i < 100; ++i) static_cast<void>(wait.pause_after_failure());
  EXPECT_EQ(wait.pause_after_failure(), 10s);
  wait.note_answer();
  EXPECT_EQ(wait.pause_after_failure(), 200ms);
}

TEST(WorldWait, SaysSomethingAfterAWhileAndEveryMinute) {
  WorldWait wait(10s);
  EXPECT_FALSE(wait.is_report_due(at(99s))) << "it does not wait";
  wait.begin(at(100s));
  EXPECT_FALSE(wait.is_report_due(at(109s)));
  wait.begin(at(109s));  // one call of many
  EXPECT_TRUE(wait.is_report_due(at(110s)));
  EXPECT_EQ(wait.waited(at(110s)), 10s);
  EXPECT_FALSE(wait.is_report_due(at(169s)));
  EXPECT_TRUE(wait.is_report_due(at(170s)));
  wait.end();
  EXPECT_FALSE(wait.is_report_due(at(500s)));
  wait.begin(at(500s));
  EXPECT_FALSE(wait.is_report_due(at(509s)));
}

}  // namespace
}  // namespace ratoon::session::world_wait_test
