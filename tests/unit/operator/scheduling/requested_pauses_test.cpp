#include "operator/runtime/scheduling/requested_pauses.h"

#include <string>

#include <gtest/gtest.h>

namespace ratoon::runtime::asked_pauses_test {
namespace {

using namespace std::chrono_literals;

TEST(RequestedPauses, APauseIsThatOfOneJobAndEnds) {
  RequestedPauses pauses;
  const JobKey a{.name_space = "n", .name = "a"};
  const JobKey b{.name_space = "n", .name = "b"};
  const Timestamp now{1h};
  pauses.note(a, 2s, now);
  EXPECT_EQ(pauses.end_of(a, now), now + 2s);
  EXPECT_EQ(pauses.end_of(b, now), std::nullopt);
  EXPECT_EQ(pauses.end_of(a, now + 2s), std::nullopt);
}

TEST(RequestedPauses, AServerMayAskForFiveSecondsAtMost) {
  RequestedPauses pauses;
  const JobKey a{.name_space = "n", .name = "a"};
  const Timestamp now{1h};
  pauses.note(a, 1h, now);
  EXPECT_EQ(pauses.end_of(a, now), now + 5s);
  pauses.note(a, 0s, now + 1s);
  EXPECT_EQ(pauses.end_of(a, now + 1s), now + 5s) << "an answer without a pause does not shorten it";
}

TEST(RequestedPauses, PausesThatAreOverUseNoMemory) {
  RequestedPauses pauses;
  const Timestamp now{1h};
  for (int i = 0; i < 100; ++i) pauses.note({.name_space = "n", .name = std::to_string(i)}, 2s, now);
  EXPECT_EQ(pauses.size(), 100U);
  pauses.note({.name_space = "n", .name = "last"}, 2s, now + 3s);
  EXPECT_EQ(pauses.size(), 1U);
}

}  // namespace
}  // namespace ratoon::runtime::asked_pauses_test
