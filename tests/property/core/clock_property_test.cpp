#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/core/clock.h"

namespace ratoon::clock_property_test {
namespace {

// 2^50 nanoseconds are 13 days: up to there two roundings of a double stay under half a nanosecond.
RC_GTEST_PROP(FromSeconds, IsTheInverseOfSeconds, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 50), std::int64_t{1} << 50);
  RC_ASSERT(from_seconds(seconds(Duration(count))) == Duration(count));
}

// UBSan looks for undefined behaviour here; the value must be near unless it is clamped.
RC_GTEST_PROP(FromSeconds, IsDefinedForEveryDouble, (std::uint64_t bits)) {
  double value = 0;
  static_assert(sizeof value == sizeof bits);
  std::memcpy(&value, &bits, sizeof value);
  const Duration converted = from_seconds(value);
  if (std::isnan(value)) {
    RC_ASSERT(converted == Duration::zero());
  } else if (std::abs(value) < 1e9) {
    RC_ASSERT(std::abs(seconds(converted) - value) <= 1e-6);
  } else {
    RC_ASSERT((converted > Duration::zero()) == (value > 0));
  }
}

RC_GTEST_PROP(Rfc3339, OrdersAsTheMomentsDo, (std::int64_t a, std::int64_t b)) {
  const std::string text_a = format_rfc3339({Duration(a)});
  const std::string text_b = format_rfc3339({Duration(b)});
  RC_ASSERT(text_a.size() == 24u);
  RC_ASSERT(a >= b || text_a <= text_b);
}

}  // namespace
}  // namespace ratoon::clock_property_test
