#include "operator/runtime/jobs/event_filter.h"

#include <gtest/gtest.h>

namespace ratoon::runtime::event_filter_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EventFilterTest : public testing::Test {
 protected:
  std::optional<EventWrite> take(const std::string& message, const std::string& reason = "MemberLost",
                                 const std::string& job = "job") {
    return filter_.event_to_write(job, {.is_warning = true, .reason = reason, .message = message},
                                  "new-" + std::to_string(++number_), now_);
  }
  // That many different sentences of one reason; the number of written events.
  int flood(int count, const std::string& reason = "MemberLost") {
    int written = 0;
    for (int i = 0; i < count; ++i)
      written += take(reason + std::to_string(number_), reason).has_value() ? 1 : 0;
    return written;
  }

  EventFilter filter_;
  Timestamp now_{minutes(1)};
  int number_ = 0;
};

TEST_F(EventFilterTest, TheSameSentenceIsOneEventWithACount) {
  EXPECT_EQ(take("a"), (EventWrite{.name = "new-1", .is_new = true, .note = "a", .count = 1}));
  now_ = now_ + minutes(9);
  EXPECT_EQ(take("a"), (EventWrite{.name = "new-1", .is_new = false, .note = "a", .count = 2}));
  now_ = now_ + minutes(9);
  EXPECT_EQ(take("a")->count, 3U) << "ten minutes from the last";
  now_ = now_ + minutes(11);
  EXPECT_EQ(take("a"), (EventWrite{.name = "new-4", .is_new = true, .note = "a", .count = 1}));
}

TEST_F(EventFilterTest, ReasonsAndWarningsAreApart) {
  EXPECT_TRUE(take("a")->is_new);
  EXPECT_TRUE(take("a", "Recovered")->is_new);
  EXPECT_TRUE(take("a", "MemberLost", "another")->is_new);
  EXPECT_TRUE(filter_.event_to_write("job", {.reason = "MemberLost", .message = "a"}, "x", now_)->is_new);
}

TEST_F(EventFilterTest, LossesAreToldOneByOneUntilThereAreTen) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(take("loss " + std::to_string(i))->is_new) << i;
  EXPECT_EQ(take("loss 10"), (EventWrite{.name = "new-11", .is_new = true, .note = "loss 10", .count = 1}));
  EXPECT_EQ(
      take("loss 11"),
      (EventWrite{.name = "new-11", .is_new = false, .note = "(the newest of several) loss 11", .count = 2}));
  EXPECT_EQ(take("loss 3")->name, "new-4") << "what has its event keeps it";
  now_ = now_ + minutes(11);
  EXPECT_TRUE(take("loss 12")->is_new);
  EXPECT_TRUE(take("loss 13")->is_new) << "it is quiet again";
}

TEST_F(EventFilterTest, AJobWritesABurstThenEachReasonNowAndThen) {
  EXPECT_EQ(flood(1000), 25);
  now_ = now_ + minutes(4);
  EXPECT_EQ(flood(100), 0);
  EXPECT_TRUE(take("back", "Recovered")) << "a storm hides no other reason";
  EXPECT_FALSE(take("back again", "Recovered"));
  now_ = now_ + minutes(1);
  const auto told = take("the newest");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->note, "(the newest of several) the newest");
  EXPECT_EQ(told->count, 1091U) << "none is lost: all but the ten that have their own";
  EXPECT_TRUE(take("x", "MemberLost", "another")->is_new) << "of another job";
}

TEST_F(EventFilterTest, WhatWaitedIsToldBeforeEventsOfTheirOwnAreMadeAgain) {
  for (int i = 0; i < 25; ++i) static_cast<void>(take("w", "R" + std::to_string(i)));
  EXPECT_TRUE(take("a")) << "the first of its reason";
  EXPECT_FALSE(take("b"));
  now_ = now_ + minutes(5);
  EXPECT_EQ(take("c")->count, 2U);
  now_ = now_ + minutes(5);
  EXPECT_EQ(take("d")->count, 1U);
}

TEST_F(EventFilterTest, WritesComeBackWithTime) {
  EXPECT_EQ(flood(100), 25);
  now_ = now_ + minutes(60);
  EXPECT_EQ(flood(100), 12);
  now_ = now_ + minutes(600);
  EXPECT_EQ(flood(100), 25);
}

TEST_F(EventFilterTest, WhoIsQuietIsForgotten) {
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(take("a", "MemberLost", "job " + std::to_string(i)));
  EXPECT_EQ(filter_.jobs(), 50U);
  now_ = now_ + minutes(16);
  EXPECT_TRUE(take("b", "MemberLost", "later"));
  EXPECT_EQ(filter_.jobs(), 1U);
}

TEST_F(EventFilterTest, AndThereIsAnEndToHowManyAreRemembered) {
  EXPECT_TRUE(take("a", "MemberLost", "first"));
  for (std::size_t i = 0; i < EventFilter::kJobsMax + 10; ++i) {
    now_ = now_ + std::chrono::milliseconds(1);
    EXPECT_TRUE(take("a", "MemberLost", std::to_string(i)));
  }
  EXPECT_EQ(filter_.jobs(), EventFilter::kJobsMax);
  EXPECT_TRUE(take("a", "MemberLost", "first")->is_new);
}

}  // namespace
}  // namespace ratoon::runtime::event_filter_test
