#include "operator/local/control/loss_schedule.h"

#include <chrono>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::local::loss_schedule_test {
namespace {

using namespace std::chrono_literals;
using test::at_seconds;
using testing::IsEmpty;

std::string complaint_of(std::string_view text) {
  const auto trace = parse_trace(text);
  return trace ? "" : trace.error().message();
}

TEST(Trace, IsReadLineByLine) {
  const auto trace = parse_trace("0,add,node1\r\n60000,add,node2\n\n60000,remove,node1");
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_EQ(*trace,
            (std::vector<TraceEvent>{{0s, true, "node1"}, {60s, true, "node2"}, {60s, false, "node1"}}));
}

TEST(Trace, WhatIsNoneIsRefusedWithItsLine) {
  EXPECT_EQ(complaint_of(""), "the trace has no event: expected lines like '0,add,node1'");
  EXPECT_EQ(complaint_of("time,what,node\n"),
            "line 1: expected '<milliseconds>,add|remove,<node>', found 'time,what,node'");
  for (const char* line : {"-1,add,a", "1.5,add,a", "1e3,add,a", "0,take,a", "99999999999999999999,add,a"})
    EXPECT_THAT(complaint_of(line), testing::StartsWith("line 1: expected ")) << line;
  EXPECT_THAT(complaint_of("0,add"), testing::StartsWith("line 1: a node's name "));
  EXPECT_THAT(complaint_of("0,add,"), testing::StartsWith("line 1: a node's name "));
  EXPECT_EQ(complaint_of("5,add,a\n4,add,b"), "line 2: its time is before that of the event above it");
  EXPECT_EQ(complaint_of("0,add,a\n1,add,a"), "line 2: node 'a' exists already");
  EXPECT_EQ(complaint_of("0,add,a\n1,remove,b"), "line 2: node 'b' does not exist");
}

TEST(LossSchedule, ATraceIsTakenInItsOrderAndAtItsSpeed) {
  LossSchedule schedule(
      {.trace = *parse_trace("0,add,a\n0,add,b\n60000,remove,a\n120000,add,c"), .trace_speed = 60},
      at_seconds(100));
  EXPECT_EQ(schedule.next_event_time(), at_seconds(100));
  EXPECT_EQ(schedule.take_due_events(at_seconds(100), {}).size(), 2u);
  EXPECT_THAT(schedule.take_due_events(at_seconds(100.9), {}), IsEmpty());
  EXPECT_EQ(schedule.next_event_time(), at_seconds(101));
  const auto due = schedule.take_due_events(at_seconds(500), {"b"});
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].node, "a");
  EXPECT_FALSE(due[0].is_added);
  EXPECT_TRUE(due[1].is_added);
  EXPECT_STREQ(due[1].source, "trace");
  EXPECT_EQ(schedule.next_event_time(), std::nullopt);
}

TEST(LossSchedule, TheClockTakesOneOfTheNodesThatMembersAreOn) {
  const std::vector<std::string> nodes = {"node-1", "node-2", "node-3"};
  const auto taken = [&](std::uint64_t seed) {
    LossSchedule schedule({.every = 20s, .seed = seed}, at_seconds(0));
    std::vector<std::string> all;
    for (int tick = 1; tick <= 40; ++tick) {
      EXPECT_EQ(schedule.next_event_time(), at_seconds(20 * tick));
      EXPECT_THAT(schedule.take_due_events(at_seconds(20 * tick - 1), nodes), IsEmpty());
      for (const auto& due : schedule.take_due_events(at_seconds(20 * tick), nodes)) all.push_back(due.node);
    }
    return all;
  };
  const auto once = taken(1);
  EXPECT_EQ(once.size(), 40u);
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), 3u) << "each of them, now and then";
  EXPECT_EQ(taken(1), once);
  EXPECT_NE(taken(2), once);
}

TEST(LossSchedule, WhoStoodStillLosesOneNodeAndNotAllThatWereDue) {
  LossSchedule schedule({.every = 20s}, at_seconds(0));
  EXPECT_EQ(schedule.take_due_events(at_seconds(205), {"a", "b"}).size(), 1u);
  EXPECT_EQ(schedule.next_event_time(), at_seconds(220));
  EXPECT_THAT(schedule.take_due_events(at_seconds(220), {}), IsEmpty()) << "no member is left to lose";
  EXPECT_EQ(schedule.next_event_time(), at_seconds(240));
}

TEST(LossSchedule, WithoutAPlanNothingHappens) {
  LossSchedule schedule;
  EXPECT_EQ(schedule.next_event_time(), std::nullopt);
  EXPECT_THAT(schedule.take_due_events(at_seconds(1e6), {"a"}), IsEmpty());
}

}  // namespace
}  // namespace ratoon::local::loss_schedule_test
