#include "cli/cluster/log_lines.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  stream({"t1 he", "llo\nt2 ", "\nt3 two  gaps\nt4 no end"});
  EXPECT_THAT(printed_, ElementsAre("hello", "", "two  gaps", "no end"));
  EXPECT_EQ(lines_.newest(), "t4");
}

TEST_F(LogLinesTest, ASecondStreamRepeatsNoLine) {
  stream({"t1 a\nt2 b\nt2 b\n"});
  stream({"t2 b\nt2 b\nt2 c\nt3 d\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "b", "c", "d"));
  stream({"t3 d\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "b", "c", "d"));
}

// Standard output and standard error have times of their own, and a clock may be set back.
TEST_F(LogLinesTest, LinesOfOneStreamNeedNoOrder) {
  stream({"t1 a\nt3 b\nt2 c\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(lines_.newest(), "t3");
  stream({"t3 b\nt2 c\nt3 d\nt4 e\nt2 f\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST_F(LogLinesTest, AStreamThatWasCutOffWithinALineShowsItOnce) {
  ASSERT_TRUE(lines_.on_head({.status = 200}));
  ASSERT_TRUE(lines_.on_bytes("t1 a\nt2 half"));
  stream({"t1 a\nt2 half and half\n"});
  EXPECT_THAT(printed_, ElementsAre("a", "half and half"));
}

TEST_F(LogLinesTest, ARefusalIsNoLine) {
  stream({R"({"kind":)", R"("Status"})"}, 404);
  EXPECT_THAT(printed_, IsEmpty());
  EXPECT_EQ(lines_.status(), 404);
  EXPECT_EQ(lines_.refusal(), R"({"kind":"Status"})");
}

TEST_F(LogLinesTest, ALineWithoutAnEndIsPrintedInPieces) {
  stream({"t1 " + std::string(3'000'000, 'x')});
  ASSERT_FALSE(printed_.empty());
  std::size_t size = 0;
  for (const auto& line : printed_) size += line.size();
  EXPECT_EQ(size, 3'000'000U);
}

TEST_F(LogLinesTest, AnOutputThatIsClosedEndsTheStream) {
  LogLines closed([](std::string_view) -> Result<void> { return Error(ErrorKind::kUnavailable, "closed"); });
  ASSERT_TRUE(closed.on_head({.status = 200}));
  EXPECT_FALSE(closed.on_bytes("t1 a\nt2 b\n"));
}

}  // namespace
}  // namespace ratoon::cli
