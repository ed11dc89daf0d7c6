// The form of a line: numbers, escapes, and cuts.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/core/log_pipe.h"

namespace ratoon::log_line_test {
namespace {

using nlohmann::json;

using LogLineTest = LogPipe;

TEST_F(LogLineTest, NumbersSurviveTheirWholeRange) {
  const double third = 1.0 / 3;
  logger().info("n", {{"min", std::numeric_limits<std::int64_t>::min()},
                      {"max", std::numeric_limits<std::uint64_t>::max()},
                      {"byte", std::uint8_t{200}},
                      {"third", third},
                      {"tiny", std::numeric_limits<double>::denorm_min()},
                      {"huge", std::numeric_limits<double>::max()},
                      {"float", 0.5f}});
  const json line = written_json();
  EXPECT_EQ(line["min"].get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(line["max"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(line["byte"], 200);
  EXPECT_EQ(line["third"].get<double>(), third);
  EXPECT_EQ(line["tiny"].get<double>(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(line["huge"].get<double>(), std::numeric_limits<double>::max());
  EXPECT_EQ(line["float"], 0.5);
}

TEST_F(LogLineTest, NumbersThatJsonLacksAreTexts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  logger().info("n", {{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", kInfinity}, {"c", -kInfinity}});
  const json line = written_json();
  EXPECT_EQ(line["a"], "NaN");
  EXPECT_EQ(line["b"], "Infinity");
  EXPECT_EQ(line["c"], "-Infinity");
}

TEST_F(LogLineTest, EscapesWhatJsonForbidsAndTerminalsObey) {
  logger().info("a\"b\\c\nd\re\tf\bg", {{"k\n", std::string_view("\0\x1f\x7f\xc2\x9b", 5)}});
  const std::string text = written();
  EXPECT_NE(text.find(R"("message":"a\"b\\c\nd\re\tf\u0008g")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("k\n":"\u0000\u001f\u007f\u009b")"), std::string::npos) << text;
}

TEST_F(LogLineTest, ReplacesWhatIsNotUtf8) {
  const std::pair<std::string, std::string> cases[] = {
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb1",
       "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb1"},     // well-formed
      {"\x80", "\uFFFD"},                                // a continuation alone
      {"\xc0\xaf", "\uFFFD\uFFFD"},                      // overlong
      {"\xe0\x80\x80", "\uFFFD\uFFFD\uFFFD"},            // overlong
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},            // a surrogate
      {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // above U+10FFFF
      {"\xf0\x9f\x8c", "\uFFFD"},                        // cut off at the end
      {"\xe2\x82!", "\uFFFD!"},                          // cut off before another character
      {"\xff\xfe", "\uFFFD\uFFFD"},
  };
  for (const auto& [text, expected] : cases) {
    logger().info(text);
    EXPECT_EQ(written_json()["message"].get<std::string>(), expected);
  }
}

TEST_F(LogLineTest, KeepsTheLinesOwnKeysApart) {
  logger().info("x", {{"time", 1}, {"level", 2}, {"message", 3}, {"cut", 4}});
  const json line = written_json();
  EXPECT_EQ(line["message"], "x");
  EXPECT_EQ(line["time_"], 1);
  EXPECT_EQ(line["level_"], 2);
  EXPECT_EQ(line["message_"], 3);
  EXPECT_EQ(line["cut_"], 4);
}

TEST_F(LogLineTest, TakesAMissingText) {
  const char* missing = nullptr;
  logger().info("x", {{"home", missing}, {"view", std::string_view()}});
  const json line = written_json();
  EXPECT_EQ(line["home"], "");
  EXPECT_EQ(line["view"], "");
}

TEST_F(LogLineTest, CutsAndMarksWhatIsTooLong) {
  const std::string euros = [] {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += "\xe2\x82\xac";
    return text;
  }();
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    logger(format).info(euros, {{"long", euros}, {euros, 1}, {"last", 2}});
    const std::string text = written();
    EXPECT_LE(text.size(), Logger::kMaxLineBytes);
    EXPECT_GT(text.size(), Logger::kMaxLineBytes - 32) << "the room is used";
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    if (format == LogFormat::kText) {
      EXPECT_TRUE(text.ends_with(" (cut)\n"));
      continue;
    }
    const json line = json::parse(text);  // refuses half of a euro
    EXPECT_EQ(line["cut"], true);
    EXPECT_GT(line["message"].get<std::string>().size(), 3900u);
    EXPECT_GT(line["long"].get<std::string>().size(), 3900u) << "the message leaves room";
  }
}

TEST_F(LogLineTest, ShortFieldsFollowALongOneThatWasLeftOut) {
  const std::string long_key(9000, 'k');
  logger().info("x", {{long_key, 1}, {"short", 2}});
  const json line = written_json();
  EXPECT_EQ(line["short"], 2);
  EXPECT_EQ(line["cut"], true);
}

TEST_F(LogLineTest, ConstantFieldsLeaveRoomForTheEvent) {
  Logger nested = logger();
  for (int depth = 0; depth < 100; ++depth) nested = nested.with({{"depth", std::string(100, 'd')}});
  nested.info("x", {{"y", std::string(4000, 'y')}});
  const json line = written_json();
  EXPECT_EQ(line["y"].get<std::string>().size(), 4000u);
  EXPECT_EQ(line["cut"], true);
}

}  // namespace
}  // namespace ratoon::log_line_test
