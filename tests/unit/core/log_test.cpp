// Loggers: levels, children, and errors of the descriptor.
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/core/log_pipe.h"

namespace ratoon::log_test {
namespace {

using nlohmann::json;

using LogTest = LogPipe;

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
}  // namespace ratoon::log_test
