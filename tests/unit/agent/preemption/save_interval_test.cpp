#include "agent/src/preemption/save_interval.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::preemption::save_interval_test {
namespace {

using namespace std::chrono_literals;

constexpr IntervalBounds kWide{.min = 1ms, .max = 24h};

// The share of time that is useful at an interval: the time that is not spent saving, of the time between two
// losses less half an interval that is repeated and the recovery.
double useful_share(double interval, double stall, double between, double recovery) {
  return (interval - stall) / interval * between / (between + recovery + interval / 2);
}

TEST(SaveInterval, HasTheMostUsefulTime) {
  for (const auto stall : {5ms, 100ms, 2000ms, 30'000ms}) {
    for (const std::uint64_t losses : {0, 3, 100}) {
      const SaveCosts costs{.stall = stall, .recovery = 20s, .losses = losses, .observed = 10h};
      const double between = (10.0 + 4) * 3600 / static_cast<double>(losses + 1);
      const double s = seconds(stall);
      const double chosen = seconds(save_interval(costs, kWide));
      const double share = useful_share(chosen, s, between, 20);
      for (double other = s * 1.01; other < 40'000; other *= 1.02)
        EXPECT_GE(share + 1e-12, useful_share(other, s, between, 20)) << s << " " << losses << " " << other;
    }
  }
}

TEST(SaveInterval, FollowsStallAndLosses) {
  const auto interval = [](Duration stall, std::uint64_t losses) {
    return save_interval({.stall = stall, .losses = losses, .observed = 4h}, kWide);
  };
  EXPECT_LT(interval(10ms, 1), interval(1s, 1));
  EXPECT_LT(interval(1s, 50), interval(1s, 1));
  // Young: the root of twice the stall times the time between losses.
  EXPECT_NEAR(seconds(interval(10ms, 1)), std::sqrt(2 * 0.010 * 4 * 3600), 0.02);
}

TEST(SaveInterval, KeepsItsBounds) {
  EXPECT_EQ(save_interval({}), 10s);
  EXPECT_EQ(save_interval({.stall = 1ms, .losses = 1000, .observed = 1h}), 10s);
  EXPECT_EQ(save_interval({.stall = 10min, .observed = 1000h}), 30min);
  EXPECT_EQ(save_interval({.stall = 1ms, .write = 100s, .losses = 1000, .observed = 1h}), 125s);
  EXPECT_EQ(save_interval({.stall = 10min, .write = 1h, .observed = 1000h}), 75min);
  EXPECT_EQ(save_interval({.stall = -1s, .write = -1s, .recovery = -1s, .observed = -1s}), 10s);
}

TEST(SaveInterval, IsAsTheTableInTheDocsSays) {
  std::string table;
  for (const Duration stall : {Duration(10ms), Duration(100ms), Duration(1s), Duration(10s)}) {
    std::array<char, 64> cell{};
    std::snprintf(cell.data(), cell.size(), "| %g s |", seconds(stall));
    table += cell.data();
    for (const std::uint64_t losses : {0, 3, 20, 100}) {
      const auto interval =
          save_interval({.stall = stall, .recovery = 20s, .losses = losses, .observed = 10h});
      std::snprintf(cell.data(), cell.size(), " %.0f s |", seconds(interval));
      table += cell.data();
    }
    table += "\n";
  }
  std::ifstream in("docs/train/notice.md");
  const std::string document{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(document, testing::HasSubstr(table)) << table;
}

}  // namespace
}  // namespace ratoon::preemption::save_interval_test
