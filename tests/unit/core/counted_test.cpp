#include "base/core/counted.h"

#include <gtest/gtest.h>

namespace ratoon::counted_test {
namespace {

TEST(Counted, OneIsOneAndNoneIsMany) {
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(0, "process", "processes"), "0 processes");
  EXPECT_EQ(counted(3, "process", "processes"), "3 processes");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(21, "step"), "21 steps");
}

}  // namespace
}  // namespace ratoon::counted_test
