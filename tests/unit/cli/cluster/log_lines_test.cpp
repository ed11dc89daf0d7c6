#include "cli/cluster/log_lines.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The times of log lines, as kubelet writes them.
const std::string kT1 = "2026-01-01T00:00:01.000000000Z";
const std::string kT2 = "2026-01-01T00:00:02.000000000Z";
const std::string kT3 = "2026-01-01T00:00:03.000000000Z";
const std::string kT4 = "2026-01-01T00:00:04.000000000Z";

class LogLinesTest : public testing::Test {
 protected:
  void stream(const std::vector<std::string>& pieces, int status = 200) {
    ASSERT_TRUE(lines_.on_head({.status = status}));
    for (const auto& piece : pieces) ASSERT_TRUE(lines_.on_bytes(piece));
    ASSERT_TRUE(lines_.end_stream());
  }

  std::vector<std::string> printed_;
  LogLines lines_{[this](std::string_view line) -> Result<void> {
    printed_.emplace_back(line);
    return {};
  }};
};

TEST_F(LogLinesTest, LinesComeInAnyPiecesWithoutTheirTimes) {
  stream({kT1 + " he", "llo\n" + kT2 + " ", "\n" + kT3 + " two  gaps\n" + kT4 + " no end"});
  EXPECT_THAT(printed_, ElementsAre("hello", "", "two  gaps", "no end"));
  EXPECT_EQ(lines_.newest(), kT4);
}

TEST_F(LogLinesTest, ASecondStreamRepeatsNoLine) {
  stream({kT1 + " a\n" + kT2 + " b\n" + kT2 + " b\n"});
  stream({kT2 + " b\n" + kT2 + " b\n" + kT2 + " c\n" + kT3 + " d\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "b", "c", "d"));
  stream({kT3 + " d\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "b", "c", "d"));
}

// Standard output and standard error have times of their own, and a clock may be set back.
TEST_F(LogLinesTest, LinesOfOneStreamNeedNoOrder) {
  stream({kT1 + " a\n" + kT3 + " b\n" + kT2 + " c\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(lines_.newest(), kT3);
  stream({kT3 + " b\n" + kT2 + " c\n" + kT3 + " d\n" + kT4 + " e\n" + kT2 + " f\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "c", "d", "e", "f"));
}

// Kubelet puts no time in front of its own messages.
TEST_F(LogLinesTest, ALineWithoutATimeIsPrintedWhole) {
  stream({kT1 + " a\nfailed to create fsnotify watcher: too many open files\nalone\n2026-13-01T00:00:00Z b"});
  EXPECT_THAT(printed_, ElementsAre("a", "failed to create fsnotify watcher: too many open files", "alone",
                                    "2026-13-01T00:00:00Z b"));
  EXPECT_EQ(lines_.newest(), kT1);
  stream({kT1 + " a\n" + kT2 + " c\n"});
  EXPECT_EQ(printed_.back(), "c");
  EXPECT_EQ(lines_.newest(), kT2);
}

TEST_F(LogLinesTest, APieceOfALongLineIsPrintedWhole) {
  stream({kT1 + " " + std::string(1 << 20, 'x'), "two words\n"});
  EXPECT_EQ(printed_.back(), "two words");
  EXPECT_EQ(lines_.newest(), kT1);
}

TEST_F(LogLinesTest, AStreamThatWasCutOffWithinALineShowsItOnce) {
  ASSERT_TRUE(lines_.on_head({.status = 200}));
  ASSERT_TRUE(lines_.on_bytes(kT1 + " a\n" + kT2 + " half"));
  stream({kT1 + " a\n" + kT2 + " half and half\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "half and half"));
}

TEST_F(LogLinesTest, ARefusalIsNoLine) {
  stream({R"({"kind":)", R"("Status"})"}, 404);
  EXPECT_THAT(printed_, IsEmpty());
  EXPECT_EQ(lines_.status(), 404);
  EXPECT_EQ(lines_.refusal(), R"({"kind":"Status"})");
}

TEST_F(LogLinesTest, ALineWithoutAnEndIsPrintedInPieces) {
  stream({kT1 + " " + std::string(3'000'000, 'x')});
  ASSERT_FALSE(printed_.empty());
  std::size_t size = 0;
  for (const auto& line : printed_) size += line.size();
  EXPECT_EQ(size, 3'000'000U);
}

TEST_F(LogLinesTest, AnOutputThatIsClosedEndsTheStream) {
  LogLines closed([](std::string_view) -> Result<void> { return Error(ErrorKind::kUnavailable, "closed"); });
  ASSERT_TRUE(closed.on_head({.status = 200}));
  EXPECT_FALSE(closed.on_bytes(kT1 + " a\n" + kT2 + " b\n"));
}

}  // namespace
}  // namespace ratoon::cli
