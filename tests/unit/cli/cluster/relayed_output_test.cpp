#include "cli/cluster/reader/relayed_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/split_join.h"

namespace ratoon::cli::relayed_output_test {
namespace {

using testing::HasSubstr;

struct Streams {
  std::string output;
  std::string errors;

  RelayedOutput::Take take() {
    return [this](RelayedStream stream, std::string_view text) -> Result<void> {
      (stream == RelayedStream::kOutput ? output : errors) += text;
      return {};
    };
  }
};

void read_log(const std::string& log, RelayedOutput& into) {
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = log.find('\n', at);
    ASSERT_NE(end, std::string::npos) << "each line of a log has an end";
    ASSERT_LE(end - at, RelayLines::kLineBytesMax + 1) << "a runtime would split it";
    ASSERT_TRUE(into.read(std::string_view(log).substr(at, end - at)));
    at = end + 1;
  }
}

TEST(RelayedOutputTest, ItIsTheSameBytesAgainHoweverTheyCome) {
  const std::string long_line(3 * RelayLines::kLineBytesMax, 'x');
  const std::string full_line(RelayLines::kLineBytesMax, 'y');
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("a\n\nb\n"), std::string("no end"), long_line + "\n",
        full_line + "\n", full_line, std::string("=0 0\n+1\n2\r\n-\n"), std::string("a\0b\n", 4)})
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
      RelayLines lines(RelayedStream::kOutput);
      std::string log;
      for (std::size_t at = 0; at < text.size(); at += piece)
        log += lines.add(std::string_view(text).substr(at, piece));
      log += lines.end() + make_end_line(3, lines.bytes());
      Streams streams;
      RelayedOutput output(streams.take());
      read_log(log, output);
      EXPECT_EQ(streams.output, text);
      EXPECT_EQ(streams.errors, "");
      EXPECT_EQ(output.exit_code(), 3);
    }
}

TEST(RelayedOutputTest, TheTwoStreamsStayApart) {
  RelayLines output(RelayedStream::kOutput);
  RelayLines errors(RelayedStream::kErrors);
  std::string log = output.add("STEP\n12");
  log += errors.add("verify: 4 %\nrat");
  log += output.add("00\n");
  log += errors.end() + make_end_line(1, output.bytes());
  Streams streams;
  RelayedOutput read(streams.take());
  read_log(log, read);
  EXPECT_EQ(streams.output, "STEP\n1200\n");
  EXPECT_EQ(streams.errors, "verify: 4 %\nrat");
}

TEST(RelayedOutputTest, ErrorsControlNoTerminal) {
  Streams streams;
  RelayedOutput output(streams.take());
  ASSERT_TRUE(
      output.read("2a\x1b]0;x\x07"
                  "b"));
  ASSERT_TRUE(output.read("-c\x1b[2J"));
  EXPECT_EQ(streams.errors, "a?]0;x?b\nc?[2J");
}

TEST(RelayedOutputTest, LinesThatItDidNotWriteAreErrors) {
  Streams streams;
  RelayedOutput output(streams.take());
  read_log("ratoon: ratoon has no command 'relay'\x1b[2J\n\n", output);
  EXPECT_EQ(streams.errors, "ratoon: ratoon has no command 'relay'?[2J\n\n")
      << "an image of an older version";
  EXPECT_EQ(output.exit_code(), std::nullopt);
}

TEST(RelayedOutputTest, ALogOfWhichAPartIsMissingIsRefused) {
  Streams streams;
  RelayedOutput output(streams.take());
  ASSERT_TRUE(output.read("1STEP"));
  const auto read = output.read("=0 11");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("has 5 of 11 bytes of output"));
  EXPECT_EQ(output.exit_code(), std::nullopt);
  for (const char* end : {"=", "=0", "=256 5", "=x 5", "=0 y"}) EXPECT_FALSE(output.read(end)) << end;
}

TEST(RelayedOutputTest, AnErrorOfTheReaderEndsIt) {
  RelayedOutput output(
      [](RelayedStream, std::string_view) -> Result<void> { return Error(ErrorKind::kIo, "no room"); });
  EXPECT_FALSE(output.read("1STEP"));
}

}  // namespace
}  // namespace ratoon::cli::relayed_output_test
