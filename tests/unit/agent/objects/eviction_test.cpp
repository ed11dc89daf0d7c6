// The order in which a full cache evicts its files.
#include "agent/src/objects/cache/eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::objects::eviction_test {
namespace {

using testing::ElementsAre;

TEST(EvictionTest, TheLeastRecentlyUsedGoesFirst) {
  const std::vector<CachedObject> objects = {{.name = "a", .last_use_nanoseconds = 30},
                                             {.name = "b", .last_use_nanoseconds = 10},
                                             {.name = "c", .last_use_nanoseconds = 20}};
  EXPECT_THAT(eviction_order(objects), ElementsAre(1, 2, 0));
}

TEST(EvictionTest, WhatIsExpectedGoesLastTheFarthestFirst) {
  const std::vector<CachedObject> objects = {{.name = "soon", .last_use_nanoseconds = 1, .next_use = 0},
                                             {.name = "used just now", .last_use_nanoseconds = 99},
                                             {.name = "far", .last_use_nanoseconds = 98, .next_use = 7},
                                             {.name = "used long ago", .last_use_nanoseconds = 2},
                                             {.name = "nearer", .last_use_nanoseconds = 3, .next_use = 6}};
  EXPECT_THAT(eviction_order(objects), ElementsAre(3, 1, 2, 4, 0));
}

TEST(EvictionTest, EqualTimesAreTheSameOrderForEverybody) {
  EXPECT_THAT(eviction_order(std::vector<CachedObject>{{.name = "b"}, {.name = "a"}}), ElementsAre(1, 0));
}

TEST(EvictionTest, CountsWhatMustGo) {
  EXPECT_EQ(excess_bytes(0, 10, 10), 0u);
  EXPECT_EQ(excess_bytes(5, 5, 10), 0u);
  EXPECT_EQ(excess_bytes(6, 5, 10), 1u);
  EXPECT_EQ(excess_bytes(50, 10, 10), 50u);
  EXPECT_EQ(excess_bytes(~std::uint64_t{0}, 1, 10), ~std::uint64_t{0} - 9)
      << "a folder that was over its limit";
}

}  // namespace
}  // namespace ratoon::objects::eviction_test
