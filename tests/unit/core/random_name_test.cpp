#include "base/core/random_name.h"

#include <set>

#include <gtest/gtest.h>

namespace ratoon::random_name_test {
namespace {

TEST(DrawName, IsSixteenHexadecimalDigitsThatDoNotComeTwice) {
  std::set<std::string> drawn;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = draw_name();
    EXPECT_EQ(name.size(), 16U);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    EXPECT_TRUE(drawn.insert(name).second) << name << " came twice";
  }
}

}  // namespace
}  // namespace ratoon::random_name_test
