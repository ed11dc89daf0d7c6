#include "base/core/utf8.h"

#include <gtest/gtest.h>

namespace ratoon {
namespace {

using std::string_literals::operator""s;

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
}  // namespace ratoon
