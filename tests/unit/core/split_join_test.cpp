#include "base/core/split_join.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::split_join_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Join, PutsTheTextBetweenItemsAndNowhereElse) {
  EXPECT_EQ(join(std::vector<std::string>{}, ","), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ","), "a");
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join(std::vector<std::string>{"", "b"}, ","), ",b") << "an empty first item is an item";
}

TEST(Join, AsksForTheTextOfItemsThatAreNone) {
  struct Column {
    std::string name;
  };
  EXPECT_EQ(join(std::array{Column{"image"}, Column{"label"}}, ", ", &Column::name), "image, label");
  EXPECT_EQ(join(std::array{1, 2}, ", ", [](int number) { return std::to_string(number); }), "1, 2");
}

TEST(Split, GivesAllPartsAndEmptyOnesToo) {
  EXPECT_THAT(split("", ','), IsEmpty());
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split("a,b c", ','), ElementsAre("a", "b c"));
  EXPECT_THAT(split(",a,,b,", ','), ElementsAre("", "a", "", "b", ""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

}  // namespace
}  // namespace ratoon::split_join_test
