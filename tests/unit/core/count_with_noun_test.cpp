#include "base/core/count_with_noun.h"

#include <gtest/gtest.h>

namespace ratoon::count_with_noun_test {
namespace {

TEST(Counted, OneIsOneAndNoneIsMany) {
  EXPECT_EQ(count_with_noun(1, "process", "processes"), "1 process");
  EXPECT_EQ(count_with_noun(0, "process", "processes"), "0 processes");
  EXPECT_EQ(count_with_noun(3, "process", "processes"), "3 processes");
  EXPECT_EQ(count_with_noun(1, "step"), "1 step");
  EXPECT_EQ(count_with_noun(21, "step"), "21 steps");
}

}  // namespace
}  // namespace ratoon::count_with_noun_test
