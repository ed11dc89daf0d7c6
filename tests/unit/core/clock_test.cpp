#include "base/core/clock.h"

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::clock_test {
namespace {

using namespace std::chrono_literals;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

WallTime at_seconds(std::int64_t s, std::int64_t ms = 0) {
  return {std::chrono::seconds(s) + std::chrono::milliseconds(ms)};
}

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(Timestamp{5s}, at_seconds(100));
  EXPECT_EQ(clock.now(), clock.now());
  clock.advance(1500ms);
  EXPECT_EQ(clock.now(), Timestamp{6500ms});
  EXPECT_EQ(clock.wall_now(), at_seconds(101, 500));
}

TEST(ManualClock, IsSharedByThreads) {
  ManualClock clock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&clock] {
        for (int k = 0; k < 1000; ++k) {
          clock.advance(1ns);
          (void)clock.now();
        }
      });
    }
  }
  EXPECT_EQ(clock.now().since_boot, 4000ns);
}

TEST(SystemClock, GoesForward) {
  const SystemClock clock;
  const Timestamp before = clock.now();
  const Timestamp after = clock.now();
  EXPECT_LE(before, after);
  EXPECT_GT(clock.wall_now(), at_seconds(1'700'000'000));
}

TEST(Timestamp, Arithmetic) {
  const Timestamp t{10s};
  EXPECT_EQ(t + 2s - t, 2s);
  EXPECT_EQ((t - 3s).since_boot, 7s);
  EXPECT_LT(t - 1ns, t);
}

TEST(Seconds, RoundToTheNearestNanosecond) {
  EXPECT_EQ(seconds(1250ms), 1.25);
  EXPECT_EQ(from_seconds(0.25), 250ms);
  EXPECT_EQ(from_seconds(-0.25), -250ms);
  EXPECT_EQ(from_seconds(1.001), 1001ms) << "1.001 * 1e9 is a little less in binary";
}

TEST(Seconds, AbsurdValuesAreClamped) {
  constexpr Duration kForever = Duration::max() / 2;
  for (const double huge : {1e10, 1e300, kInfinity, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(from_seconds(huge), kForever) << huge;
    EXPECT_EQ(from_seconds(-huge), -kForever) << huge;
  }
  EXPECT_EQ(from_seconds(std::nan("")), Duration::zero());
  EXPECT_EQ(from_seconds(std::numeric_limits<double>::denorm_min()), Duration::zero());
  const double nearly = std::nextafter(seconds(kForever), 0);
  EXPECT_LT(from_seconds(nearly), kForever);
  EXPECT_GT(from_seconds(nearly), kForever - 1s);
  const Timestamp late{std::chrono::hours(24 * 365 * 100)};
  EXPECT_GT(late + from_seconds(kInfinity), late) << "a deadline of forever is still after now";
}

TEST(Rfc3339, OfTheDesign) {
  EXPECT_EQ(format_rfc3339(at_seconds(1795261101, 250)), "2026-11-21T11:38:21.250Z");
}

TEST(Rfc3339, AroundTheEpoch) {
  EXPECT_EQ(format_rfc3339({}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(at_seconds(0, -1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339({-1ns}), "1969-12-31T23:59:59.999Z") << "down, never to the future";
  EXPECT_EQ(format_rfc3339({999'999ns}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(at_seconds(-86'400 * 365)), "1969-01-01T00:00:00.000Z");
}

TEST(Rfc3339, LeapDays) {
  EXPECT_EQ(format_rfc3339(at_seconds(951'782'400)), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(at_seconds(4'107'542'399, 999)), "2100-02-28T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(at_seconds(4'107'542'400)), "2100-03-01T00:00:00.000Z");
}

TEST(ParseRfc3339, TakesAnyFractionAndAnyOffset) {
  const WallTime expected = at_seconds(1'777'629'600);
  for (const char* text :
       {"2026-05-01T10:00:00Z", "2026-05-01T10:00:00z", "2026-05-01T10:00:00+00:00",
        "2026-05-01T12:00:00+02:00", "2026-05-01T04:30:00-05:30", "2026-05-01T10:00:00.000Z"})
    EXPECT_EQ(parse_rfc3339(text), expected) << text;
  EXPECT_EQ(parse_rfc3339("2026-05-01T10:00:00.25Z"), WallTime{expected.since_epoch + 250ms});
  EXPECT_EQ(parse_rfc3339("2026-05-01T12:00:00.1234567894+02:00"),
            WallTime{expected.since_epoch + 123'456'789ns});
  for (const char* text :
       {"", "2026-05-01", "2026-05-01T10:00:00", "2026-05-01T10:00:00.Z", "2026-05-01T10:00:00+0200",
        "2026-05-01T10:00:00+24:00", "2026-05-01T10:00:00+0x:00", "2026-05-01T10:00:00Z ",
        "2026-13-01T10:00:00Z", "10000-05-01T10:00:00Z", "9999-05-01T10:00:00Z"})
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
}

// A WallTime spans 292 years to either side, so the year 9999 has no value and no text.
TEST(Rfc3339, AtTheEndsOfTime) {
  EXPECT_EQ(format_rfc3339({Duration::max()}), "2262-04-11T23:47:16.854Z");
  EXPECT_EQ(format_rfc3339({Duration::min()}), "1677-09-21T00:12:43.145Z");
}

}  // namespace
}  // namespace ratoon::clock_test
