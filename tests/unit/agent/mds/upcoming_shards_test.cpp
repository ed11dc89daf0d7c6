#include "agent/src/mds/upcoming_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::mds::upcoming_shards_test {
namespace {

using testing::ElementsAre;

TEST(UpcomingShards, IsWhatIsExpectedAndWasNotTakenBack) {
  UpcomingShards future;
  EXPECT_THAT(future.shards(), ElementsAre());
  future.expect({3, 1});
  future.expect({1, 2});
  for (std::size_t shard = 10; shard < 40; ++shard) future.expect({shard, 3});
  EXPECT_THAT(future.next_uses(std::vector<std::size_t>{1, 39, 3, 7}),
              ElementsAre(1, 32, 0, UpcomingShards::kNeverUsed));
  future.expect_no_more(std::vector<std::size_t>{3, 1});  // read
  EXPECT_THAT(future.next_uses(std::vector<std::size_t>{1, 2, 10, 3}), ElementsAre(0, 1, 2, 3));
  future.expect_no_more(std::vector<std::size_t>{3, 1});  // nobody expects that any more
  EXPECT_EQ(future.shards().size(), 33u);
  for (std::size_t shard = 10; shard < 40; ++shard)
    future.expect_no_more(std::vector<std::size_t>{shard, 3});  // the position has moved
  EXPECT_THAT(future.shards(), ElementsAre(1, 2));
  EXPECT_THAT(distinct_shards(std::vector<std::size_t>{7, 7, 1, 7}), ElementsAre(7, 1));
}

TEST(UpcomingShards, NoMoreIsOpenedAheadThanFits) {
  const std::vector<ShardCost> costs{{.memory_bytes = 10}, {.cache_bytes = 20}, {.memory_bytes = 5}, {}};
  EXPECT_EQ(count_fitting_shards(costs, {.memory_bytes = 15, .cache_bytes = 20}), 4u);
  EXPECT_EQ(count_fitting_shards(costs, {.memory_bytes = 14, .cache_bytes = 20}), 2u);
  EXPECT_EQ(count_fitting_shards(costs, {.memory_bytes = 15, .cache_bytes = 19}), 1u);
  EXPECT_EQ(count_fitting_shards(costs, {}), 1u) << "the nearest one in any case";
  EXPECT_EQ(count_fitting_shards({}, {}), 0u);
}

}  // namespace
}  // namespace ratoon::mds::upcoming_shards_test
