#include "agent/src/progress/render.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::progress::render_test {
namespace {

using namespace std::chrono_literals;

// Resumed at 400 of 1,000; 50 steps in 10 s since.
BarState resumed() {
  return {.title = "digits",
          .total = 1000,
          .begin_at = 400,
          .position = 450,
          .elapsed = 10s,
          .loss = 0.123456,
          .durable = 440};
}

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

TEST(RenderBar, OfEightyColumns) {
  EXPECT_EQ(render_bar(resumed(), 80, Glyphs::kAscii),
            "digits   45%  [====>    ]   450/1000  5.0/s  left 1:50  loss 0.1235  durable 440");
  EXPECT_EQ(render_bar(resumed(), 80, Glyphs::kUtf8),
            "digits   45%  |████     |   450/1000  5.0/s  left 1:50  loss 0.1235  durable 440");
}
TEST(RenderBar, OfFortyColumns) {
  EXPECT_EQ(render_bar(resumed(), 40, Glyphs::kAscii), " 45%  [====>     ]   450/1000  left 1:50");
  EXPECT_EQ(render_bar(resumed(), 40, Glyphs::kUtf8), " 45%  |████▌     |   450/1000  left 1:50");
}
TEST(RenderBar, OfAHundredAndTwentyColumns) {
  EXPECT_EQ(render_bar(resumed(), 120, Glyphs::kAscii),
            "digits   45%  [======================>                          ]   450/1000  5.0/s  left 1:50  "
            "loss 0.1235  durable 440");
  EXPECT_EQ(render_bar(resumed(), 120, Glyphs::kUtf8),
            "digits   45%  |██████████████████████                           |   450/1000  5.0/s  left 1:50  "
            "loss 0.1235  durable 440");
}

TEST(RenderBar, AtItsBeginningAndEnd) {
  EXPECT_EQ(render_bar({.total = 8}, 40, Glyphs::kAscii), "  0%  [>                  ]  0/8  left ?");
  EXPECT_EQ(render_bar({.total = 8, .position = 8, .elapsed = 2s}, 40, Glyphs::kAscii),
            "100%  [=========]  8/8  4.0/s  left 0:00");
  EXPECT_EQ(render_bar({.total = 1'000'000, .position = 999'999, .elapsed = 1s}, 60, Glyphs::kUtf8),
            " 99%  |█████████████▉|   999999/1000000  999999/s  left 0:00");
  EXPECT_EQ(render_bar({.total = 8, .position = 9, .elapsed = 2s}, 40, Glyphs::kUtf8),
            "100%  |█████████|  9/8  4.5/s  left 0:00");
}

TEST(RenderBar, OfAnUnknownTotalIsACount) {
  EXPECT_EQ(render_bar({.title = "t", .position = 7, .elapsed = 14s}, 40, Glyphs::kUtf8), "t  7  2.0 s/step");
}

TEST(RenderBar, NeverOutgrowsItsColumns) {
  BarState large = resumed();
  large.total = large.position = UINT64_MAX;
  for (const BarState& state : {resumed(), large, BarState{.total = 1}, BarState{}})
    for (std::size_t width = 0; width < 200; ++width)
      for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUtf8})
        ASSERT_LE(columns(render_bar(state, width, glyphs)), width);
}

TEST(RenderBar, FillsInOrder) {
  std::string before;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    const std::string bar = render_bar({.total = 1000, .position = position}, 60, Glyphs::kAscii);
    const auto full = std::count(bar.begin(), bar.end(), '=');
    ASSERT_GE(full, std::count(before.begin(), before.end(), '='));
    ASSERT_NE(bar.find('>'), std::string::npos);
    before = bar;
  }
  EXPECT_EQ(render_bar({.total = 1000, .position = 1000}, 60, Glyphs::kAscii).find('>'), std::string::npos);
}

TEST(Rate, CountsSinceTheResumeAlone) {
  EXPECT_EQ(rate_per_second(resumed()), 5.0);
  EXPECT_EQ(time_left(resumed()), 110s);  // 550 to go; counted from 0 it would be 12 s
  BarState begins = resumed();
  begins.position = 400;
  EXPECT_EQ(rate_per_second(begins), std::nullopt);
  EXPECT_EQ(time_left(begins), std::nullopt);
  BarState back = resumed();
  back.position = 300;
  EXPECT_EQ(rate_per_second(back), std::nullopt);
  BarState at_once = resumed();
  at_once.elapsed = 0s;
  EXPECT_EQ(rate_per_second(at_once), std::nullopt);
  EXPECT_EQ(time_left({.total = 5, .position = 5}), 0s);
  EXPECT_EQ(time_left({.position = 5, .elapsed = 1s}), std::nullopt);
}

TEST(RenderLine, IsASentence) {
  EXPECT_EQ(render_line(resumed()),
            "digits: step 450/1000 (45 %), 5.0/s, 0:10 since step 400, left 1:50, loss 0.1235, durable 440");
  EXPECT_EQ(render_line({.unit = "sample", .position = 3, .elapsed = 6s}), "sample 3, 2.0 s/sample, 0:06");
  EXPECT_EQ(render_line({.total = 10}), "step 0/10 (0 %), 0:00");
}

TEST(RenderLine, WritesTimesAndRatesAsPeopleDo) {
  const auto left = [](std::uint64_t to_go, Duration for_one) {
    return render_line({.total = to_go + 1, .position = 1, .elapsed = for_one});
  };
  EXPECT_THAT(left(59, 1s), testing::HasSubstr("left 0:59"));
  EXPECT_THAT(left(3599, 1s), testing::HasSubstr("left 59:59"));
  EXPECT_THAT(left(3600, 1s), testing::HasSubstr("left 1:00:00"));
  EXPECT_THAT(left(86'400, 1s), testing::HasSubstr("left 1d 00:00"));
  EXPECT_THAT(left(1'000'000, 1s), testing::HasSubstr("left 11d 13:46"));
  EXPECT_THAT(left(1, 250us), testing::HasSubstr("4000/s"));
  EXPECT_THAT(left(1, 90s), testing::HasSubstr("90.0 s/step"));
}

TEST(NextPause, GrowsWhereNobodyWatches) {
  EXPECT_EQ(next_pause(true, 0s), 100ms);
  EXPECT_EQ(next_pause(true, 100ms), 100ms);
  Duration pause{0};
  std::vector<Duration> pauses;
  for (int i = 0; i < 12; ++i) pauses.push_back(pause = next_pause(false, pause));
  EXPECT_THAT(pauses, testing::ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 512s, 600s, 600s));
}

}  // namespace
}  // namespace ratoon::progress::render_test
