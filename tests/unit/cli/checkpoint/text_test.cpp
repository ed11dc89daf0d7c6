#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/progress.h"
#include "cli/text/text_format.h"

namespace ratoon::cli::text_test {
namespace {

TEST(Text, SizesAndTimes) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(size_text(3ULL << 40), "3.0 TiB");
  EXPECT_EQ(size_text(~0ULL), "16.0 EiB");
  EXPECT_EQ(duration_text(7.9), "0:07");
  EXPECT_EQ(duration_text(750), "12:30");
  EXPECT_EQ(duration_text(11'100), "3:05:00");
  EXPECT_EQ(duration_text(-1), "0:00");
}

TEST(Text, TablesAreAlignedAndMoveNoCursor) {
  EXPECT_EQ(table_text({{"A", "LONG", "C"}, {"long", "b", "c"}}), "A     LONG  C\nlong  b     c\n");
  EXPECT_EQ(table_text({{"gewöhnlich", "x"}, {"ab", "y"}}), "gewöhnlich  x\nab          y\n");
  EXPECT_EQ(table_text({{"a\x1b[2J\n", "x"}}), "a?[2J?  x\n");
  EXPECT_EQ(table_text({}), "");
}

TEST(Text, PatternsAreThoseOfAShell) {
  const struct {
    const char* text;
    const char* pattern;
    bool matches;
  } cases[] = {{"", "", true},          {"", "*", true},
               {"a", "", false},        {"net.fc.weight", "net.*", true},
               {"net", "net.*", false}, {"net.fc.weight", "*.weight", true},
               {"abc", "a?c", true},    {"ac", "a?c", false},
               {"aXbYb", "a*b", true},  {"aaab", "*a*ab", true},
               {"abcd", "a*c", false},  {"a*c", "a*c", true},
               {"abc", "ABC", false},   {"mississippi", "m*iss*pp?", true}};
  for (const auto& c : cases) EXPECT_EQ(matches(c.text, c.pattern), c.matches) << c.text << " " << c.pattern;
  EXPECT_TRUE(matches(std::string(10'000, 'a') + "b", "*a*a*a*a*a*b"));
  EXPECT_TRUE(matches_any("a", {}));
  EXPECT_FALSE(matches_any("a", {"b", "c*"}));
}

TEST(Progress, SaysShareRateAndWhatIsLeft) {
  const std::uint64_t mib = 1 << 20;
  EXPECT_EQ(progress_line("verify", {.total_bytes = 8 * mib}, 0), "verify: 0 % of 8.0 MiB");
  EXPECT_EQ(progress_line("verify", {.done_bytes = 2 * mib, .total_bytes = 8 * mib, .seconds = 4}, 0),
            "verify: 25 % of 8.0 MiB, 512.0 KiB/s, 0:12 left");
  EXPECT_EQ(progress_line("export", {.done_bytes = 4 * mib, .total_bytes = 8 * mib, .seconds = 4}, 10),
            "export: [#####.....] 50 % of 8.0 MiB, 1.0 MiB/s, 0:04 left");
  EXPECT_THAT(progress_line("x", {.done_bytes = 8 * mib - 1, .total_bytes = 8 * mib, .seconds = 1}, 4),
              testing::StartsWith("x: [###.] 99 %"));
  EXPECT_THAT(progress_line("x", {.done_bytes = 9 * mib, .total_bytes = 8 * mib, .seconds = 1}, 4),
              testing::HasSubstr("[####] 100 % of 8.0 MiB, 9.0 MiB/s, 0:00 left"));
  EXPECT_EQ(progress_line("x", {}, 4), "x: [####] 100 % of 0 bytes");
}

}  // namespace
}  // namespace ratoon::cli::text_test
