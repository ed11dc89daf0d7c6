// A logger that writes into a pipe, at the moment of the design's example.
#pragma once

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/core/log.h"
#include "base/core/unique_fd.h"

namespace ratoon {

// A pipe that is read after the writing; the written text must fit (64 KiB).
class LogPipe : public testing::Test {
 protected:
  LogPipe() {
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

  nlohmann::json written_json() {
    const std::string text = written();
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
    return nlohmann::json::parse(text);
  }

  ManualClock clock_{Timestamp{}, WallTime{std::chrono::milliseconds(1795261101250)}};
  UniqueFd read_end_;
  UniqueFd write_end_;
};

}  // namespace ratoon
