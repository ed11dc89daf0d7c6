// Bytes from a socket that may be a frame.
#include "agent/src/board/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::board::frame_test {
namespace {

using testing::HasSubstr;

const Frame kFrame = make_frame(Op::kSet, 7, {"key", std::string("\0value", 6), ""});

std::string why_not(const std::string& bytes) {
  const auto decoded = decode(bytes);
  return decoded ? "it is one" : decoded.error().message();
}

TEST(BoardFrame, IsReadAsItWasWritten) {
  for (const Frame& frame :
       {kFrame, make_frame(Op::kCount, ~std::uint64_t{0}, {}), make_frame(Status::kDone, 0, {""})}) {
    const std::string bytes = encode(frame);
    EXPECT_EQ(bytes.size(), encoded_size(frame));
    const auto decoded = decode(bytes + "RT").value();
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->frame, frame);
    EXPECT_EQ(decoded->size, bytes.size());
  }
}

TEST(BoardFrame, HasTheseBytes) {
  EXPECT_EQ(encode(make_frame(Op::kAdd, 0x0102, {"k", "-1"})),
            std::string("RTB1\x14\0\0\0\x05\x02\x01\0\0\0\0\0\0\x01\0\0\0k\x02\0\0\0-1", 28));
}

TEST(BoardFrame, IsWaitedForWhileMoreMayCome) {
  const std::string bytes = encode(kFrame);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode(bytes.substr(0, size));
    ASSERT_TRUE(decoded) << size;
    EXPECT_FALSE(*decoded) << size;
  }
}

TEST(BoardFrame, ThatIsNoneIsFoundOutAtOnce) {
  EXPECT_THAT(why_not("G"), HasSubstr("must begin with 'RTB1'"));
  EXPECT_THAT(why_not("RTB2"), HasSubstr("must begin with 'RTB1'"));
  EXPECT_THAT(why_not(std::string("RTB1\x08\0\0\0", 8)), HasSubstr("found 8"));
  EXPECT_THAT(why_not("RTB1\xff\xff\xff\xff"), HasSubstr("found 4294967295"));
}

TEST(BoardFrame, OfAStrangerIsSmall) {
  const std::string bytes = encode(kFrame);
  EXPECT_TRUE(decode(bytes, bytes.size()).value());
  const auto large = decode(bytes, bytes.size() - 1);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message(),
              HasSubstr("must have 9 to " + std::to_string(bytes.size() - 9) + " bytes"));
  EXPECT_FALSE(decode(bytes.substr(0, 8), bytes.size() - 1)) << "its head is enough";
}

TEST(BoardFrame, MayNotEndWithinAWord) {
  std::string bytes = encode(make_frame(Op::kGet, 1, {"key"}));
  bytes[17] = 4;  // the word's size
  EXPECT_THAT(why_not(bytes), HasSubstr("ends within a word"));
  bytes = encode(make_frame(Op::kGet, 1, {}));
  bytes[4] = static_cast<char>(bytes[4] + 3);
  EXPECT_THAT(why_not(bytes + "abc"), HasSubstr("ends within the size of a word"));
}

TEST(BoardFrame, HasSoManyWordsAtMost) {
  EXPECT_EQ(why_not(encode(make_frame(Op::kGet, 1, std::vector<std::string>(kWordsMax)))), "it is one");
  EXPECT_THAT(why_not(encode(make_frame(Op::kGet, 1, std::vector<std::string>(kWordsMax + 1)))),
              HasSubstr("more than 65536 words"));
}

}  // namespace
}  // namespace ratoon::board::frame_test
