#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/src/session/sums/summed_numbers.h"

namespace ratoon::session::summed_numbers_property_test {
namespace {

// The sum of any integers over ranks is exact, or it is refused because it does not fit.
RC_GTEST_PROP(SummedNumbersLaws, IntegersAreExactOrRefused, (std::vector<std::int32_t> numbers)) {
  RC_PRE(!numbers.empty());
  // Small sums of large numbers are as likely as others.
  if (*rc::gen::arbitrary<bool>())
    for (std::size_t at = 1; at < numbers.size(); at += 2)
      numbers[at] = -std::max(numbers[at - 1], -0x7fffffff);
  std::int32_t sum = numbers.front();
  NumberSums sums("sum()", std::span(&sum, 1));
  for (std::size_t rank = 1; rank < numbers.size(); ++rank)
    sums.add(static_cast<std::uint32_t>(rank), encode_call("sum()", std::span(&numbers[rank], 1)));
  const std::int64_t exact = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  const bool fits =
      exact >= std::numeric_limits<std::int32_t>::min() && exact <= std::numeric_limits<std::int32_t>::max();
  RC_ASSERT(sums.finish().empty() == fits);
  RC_ASSERT(sum == (fits ? exact : numbers.front()));
}

}  // namespace
}  // namespace ratoon::session::summed_numbers_property_test
