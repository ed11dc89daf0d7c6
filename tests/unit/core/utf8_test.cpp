#include "base/core/utf8.h"

#include <gtest/gtest.h>

namespace ratoon::utf8_test {
namespace {

using std::string_literals::operator""s;

TEST(CutText, IsCutBetweenCharacters) {
  const std::string text = "a\u20ac\u00df";  // 1, 3 and 2 bytes
  const char* beginnings[] = {"", "a", "a", "a", "a\u20ac", "a\u20ac", "a\u20ac\u00df", "a\u20ac\u00df"};
  const char* ends[] = {
      "", "", "\u00df", "\u00df", "\u00df", "\u20ac\u00df", "a\u20ac\u00df", "a\u20ac\u00df"};
  for (std::size_t bytes = 0; bytes < std::size(beginnings); ++bytes) {
    EXPECT_EQ(cut_text(text, bytes), beginnings[bytes]) << bytes;
    EXPECT_EQ(tail_of_text(text, bytes), ends[bytes]) << bytes;
  }
}

TEST(AsUtf8, KeepsWhatIsTextAndNothingElse) {
  EXPECT_EQ(as_utf8("a\n\x1b\u009b\u20ac"), "a\n\x1b\u009b\u20ac");
  EXPECT_EQ(as_utf8("a\xff\xe2\x82"), "a\ufffd\ufffd\ufffd");
}

TEST(CountCharacters, CountsNoBytes) {
  EXPECT_EQ(count_characters(""), 0u);
  EXPECT_EQ(count_characters("a\u20ac\u00df\U0001f642"), 4u);
}

TEST(Printable, WhatCouldMoveACursorIsShownAsAQuestionMark) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "?[31mred?[0m");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "?]0;title?");
  EXPECT_EQ(printable("a\r\nratoon: all is well\t\b\x7f"), "a??ratoon: all is well???");
  EXPECT_EQ(printable("a\0b"s), "a?b");
  EXPECT_EQ(printable("\u009b2J\u0080\u009f"), "?2J??") << "what C1 adds";
}

TEST(Printable, WhatIsNoTextIsShownByteByByte) {
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "?2J")
      << "C1 of a terminal of 8 bits";
  EXPECT_EQ(printable("\xe2\x82"), "??");
  EXPECT_EQ(printable("a\xc3"), "a?");
  EXPECT_EQ(printable("\xed\xa0\x80\xc0\x9b"), "?????") << "a surrogate, and an overlong form";
}

TEST(Printable, TextStaysAsItIs) {
  for (const std::string text : {"", " ~", "gr\u00fcn.\u732b\U0001f642", "\u00a0\u07ff\uffff\U0010ffff"})
    EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace ratoon::utf8_test
