#include "base/core/log.h"

#include <cerrno>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// A pipe that is read after the writing; what is written must fit (64 KiB).
class LogTest : public testing::Test {
 protected:
  LogTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
  }

  Logger logger(LogFormat format = LogFormat::kJson, LogLevel level = LogLevel::kInfo,
                Logger::Fields fields = {}) {
    return Logger(clock_, {.fd = write_end_.get(), .min_level = level, .format = format}, fields);
  }

  std::string written() {
    std::string text(1 << 17, '\0');
    const ssize_t size = ::read(read_end_.get(), text.data(), text.size());
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  json written_json() {
    const std::string text = written();
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
    return json::parse(text);
  }

  ManualClock clock_{Timestamp{}, WallTime{1795261101250ms}};
  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LogTest, WritesOneJsonLine) {
  const std::string name = "w-0";
  logger(LogFormat::kJson, LogLevel::kInfo, {{"component", "operator"}})
      .info("member started", {{"member", name}, {"step", 12}, {"seconds", 0.25}, {"ok", true}});
  EXPECT_EQ(written(), R"({"time":"2026-11-21T11:38:21.250Z","level":"info","message":"member started",)"
                       R"("component":"operator","member":"w-0","step":12,"seconds":0.25,"ok":true})"
                       "\n");
}

TEST_F(LogTest, WritesTextForPeople) {
  const Logger text = logger(LogFormat::kText);
  text.info("member started", {{"member", "w-0"}, {"step", 12}});
  EXPECT_EQ(written(), "11:38:21.250 info  member started  member=w-0 step=12\n");
  text.warning("slow");
  EXPECT_EQ(written(), "11:38:21.250 warn  slow\n");
  text.with({{"a", ""}}).error("x\ny\x1b[31m", {{"b", "two words"}, {"c", "q\"uote"}, {"d", false}});
  EXPECT_EQ(written(),
            "11:38:21.250 error x\\ny\\u001b[31m  a=\"\" b=\"two words\" c=\"q\\\"uote\" d=false\n");
}

TEST_F(LogTest, ObeysTheMinimumLevel) {
  const Logger warnings = logger(LogFormat::kJson, LogLevel::kWarning);
  warnings.debug("a");
  warnings.info("b");
  EXPECT_EQ(written(), "");
  EXPECT_FALSE(warnings.is_enabled(LogLevel::kInfo));
  EXPECT_TRUE(warnings.is_enabled(LogLevel::kError));
  warnings.warning("c");
  EXPECT_EQ(written_json()["level"], "warning");
  warnings.log(LogLevel::kError, "d", {{"k", 1}});
  EXPECT_EQ(written_json()["level"], "error");
  logger(LogFormat::kJson, LogLevel::kDebug).debug("e");
  EXPECT_EQ(written_json()["level"], "debug");
}

TEST_F(LogTest, ChildrenAddFields) {
  const Logger parent = logger(LogFormat::kJson, LogLevel::kInfo, {{"component", "agent"}});
  const Logger child = parent.with({{"rank", 3}}).with({{"attempt", 7u}});
  child.info("x", {{"y", 1}});
  const json line = written_json();
  EXPECT_EQ(line["component"], "agent");
  EXPECT_EQ(line["rank"], 3);
  EXPECT_EQ(line["attempt"], 7);
  EXPECT_EQ(line["y"], 1);
  parent.info("x");
  EXPECT_FALSE(written_json().contains("rank")) << "the parent stays as it was";
}

TEST_F(LogTest, NumbersSurviveTheirWholeRange) {
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

TEST_F(LogTest, NumbersThatJsonLacksAreTexts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  logger().info("n", {{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", kInfinity}, {"c", -kInfinity}});
  const json line = written_json();
  EXPECT_EQ(line["a"], "NaN");
  EXPECT_EQ(line["b"], "Infinity");
  EXPECT_EQ(line["c"], "-Infinity");
}

TEST_F(LogTest, EscapesWhatJsonForbidsAndTerminalsObey) {
  logger().info("a\"b\\c\nd\re\tf\bg", {{"k\n", std::string_view("\0\x1f\x7f\xc2\x9b", 5)}});
  const std::string text = written();
  EXPECT_NE(text.find(R"("message":"a\"b\\c\nd\re\tf\u0008g")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("k\n":"\u0000\u001f\u007f\u009b")"), std::string::npos) << text;
}

TEST_F(LogTest, ReplacesWhatIsNotUtf8) {
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

TEST_F(LogTest, KeepsTheLinesOwnKeysApart) {
  logger().info("x", {{"time", 1}, {"level", 2}, {"message", 3}, {"cut", 4}});
  const json line = written_json();
  EXPECT_EQ(line["message"], "x");
  EXPECT_EQ(line["time_"], 1);
  EXPECT_EQ(line["level_"], 2);
  EXPECT_EQ(line["message_"], 3);
  EXPECT_EQ(line["cut_"], 4);
}

TEST_F(LogTest, TakesAMissingText) {
  const char* missing = nullptr;
  logger().info("x", {{"home", missing}, {"view", std::string_view()}});
  const json line = written_json();
  EXPECT_EQ(line["home"], "");
  EXPECT_EQ(line["view"], "");
}

TEST_F(LogTest, CutsAndMarksWhatIsTooLong) {
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

TEST_F(LogTest, ShortFieldsFollowALongOneThatWasLeftOut) {
  const std::string long_key(9000, 'k');
  logger().info("x", {{long_key, 1}, {"short", 2}});
  const json line = written_json();
  EXPECT_EQ(line["short"], 2);
  EXPECT_EQ(line["cut"], true);
}

TEST_F(LogTest, ConstantFieldsLeaveRoomForTheEvent) {
  Logger nested = logger();
  for (int depth = 0; depth < 100; ++depth) nested = nested.with({{"depth", std::string(100, 'd')}});
  nested.info("x", {{"y", std::string(4000, 'y')}});
  const json line = written_json();
  EXPECT_EQ(line["y"].get<std::string>().size(), 4000u);
  EXPECT_EQ(line["cut"], true);
}

TEST_F(LogTest, KeepsErrno) {
  const Logger closed(clock_, {.fd = 1 << 20});
  errno = ENOSPC;
  closed.info("x");
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(closed.dropped_lines(), 1u);
}

TEST_F(LogTest, AFullPipeLosesLinesAndTheNextOneStandsAlone) {
  ASSERT_GE(::fcntl(write_end_.get(), F_SETPIPE_SZ, 4096), 4096);
  const Logger noisy = logger();
  const std::string filler(7000, 'f');
  noisy.info("torn", {{"filler", filler}});
  noisy.info("lost", {{"filler", filler}});
  EXPECT_EQ(noisy.dropped_lines(), 2u);
  const std::string torn = written();
  EXPECT_EQ(torn.size(), 4096u);
  noisy.info("after");
  noisy.info("next");
  EXPECT_EQ(noisy.dropped_lines(), 2u);
  const std::string rest = written();
  ASSERT_TRUE(rest.starts_with("\n{")) << "ends the torn line first: " << rest;
  const std::size_t end = rest.find('\n', 1);
  EXPECT_EQ(json::parse(rest.substr(1, end - 1))["message"], "after");
  EXPECT_EQ(json::parse(rest.substr(end + 1))["message"], "next");
}

TEST_F(LogTest, ThreadsWriteWholeLines) {
  std::string path = testing::TempDir() + "ratoon_log_test.XXXXXX";
  UniqueFd file(::mkostemp(path.data(), O_APPEND | O_CLOEXEC));
  ::unlink(path.c_str());
  const Logger shared(clock_, {.fd = file.get()}, {{"component", "test"}});
  constexpr int kThreads = 4;
  constexpr int kLines = 250;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&shared, t] {
        const Logger mine = shared.with({{"thread", t}});
        for (int i = 0; i < kLines; ++i) mine.info("line", {{"i", i}});
      });
    }
  }
  struct stat status{};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  ASSERT_EQ(::pread(file.get(), text.data(), text.size(), 0), status.st_size);
  std::vector<int> next(kThreads);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const json line = json::parse(text.substr(start, end - start));
    EXPECT_EQ(line["i"], next.at(line["thread"].get<std::size_t>())++) << "in order within a thread";
    start = end + 1;
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kLines));
}

}  // namespace
}  // namespace ratoon
