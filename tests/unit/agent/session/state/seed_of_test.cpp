#include "agent/src/session/state/seed_of.h"

#include <set>

#include <gtest/gtest.h>

namespace ratoon::session::seed_of_test {
namespace {

// Frozen values: a run that grows draws from these seeds.
TEST(SeedOf, IsTheSameForEver) {
  EXPECT_EQ(seed_of(0, Step(0), Rank(0), "noise"), 2295920905112585939U);
  EXPECT_EQ(seed_of(17, Step(1200), Rank(3), "net.generator:cpu"), 1664233552555200975U);
}

TEST(SeedOf, HangsOnEachOfTheFour) {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : {0U, 1U})
    for (const std::uint64_t step : {0U, 1U})
      for (const std::uint32_t rank : {0U, 1U})
        for (const char* name : {"a", "b"}) seeds.insert(seed_of(seed, Step(step), Rank(rank), name));
  EXPECT_EQ(seeds.size(), 16u);
}

}  // namespace
}  // namespace ratoon::session::seed_of_test
