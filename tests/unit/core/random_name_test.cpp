#include "base/core/random_name.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/failing_calls/draw.h"

namespace ratoon::random_name_test {
namespace {

TEST(DrawName, IsSixteenHexadecimalDigitsThatDoNotComeTwice) {
  std::set<std::string> drawn;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = random_hex_name();
    EXPECT_EQ(name.size(), 16U);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    EXPECT_TRUE(drawn.insert(name).second) << name << " came twice";
  }
}

TEST(DrawSecret, GoesOnAfterASignal) {
  const test::failing::Fault fault(test::failing::Call::kRandom, EINTR, 2);
  EXPECT_EQ(random_hex_secret(16).value().size(), 32U);
  EXPECT_EQ(fault.failed(), 2U);
}

}  // namespace
}  // namespace ratoon::random_name_test
