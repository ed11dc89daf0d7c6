#include "agent/src/mds/shards/shard_table.h"

#include <gtest/gtest.h>

namespace ratoon::mds::shard_table_test {
namespace {

// Every id, compared with counting.
void expect_right(const std::vector<std::uint64_t>& sizes) {
  const ShardTable table(sizes);
  std::uint64_t id = 0;
  for (std::size_t shard = 0; shard < sizes.size(); ++shard) {
    for (std::uint32_t sample = 0; sample < sizes[shard]; ++sample, ++id) {
      const auto place = table.find(id);
      ASSERT_EQ(place.shard, shard) << id;
      ASSERT_EQ(place.sample, sample) << id;
    }
  }
  EXPECT_EQ(table.samples(), id);
}

TEST(ShardTable, FindsEverySample) {
  expect_right({});
  expect_right({1});
  expect_right({0, 1, 0, 0, 2, 0});
  expect_right({5, 5, 5, 5, 3});
  expect_right({1000, 1, 1, 1, 1, 1, 1, 1, 1, 1000});
  expect_right({1, 1, 1, 1, 1, 1, 1, 1, 1, 100'000});
  expect_right(std::vector<std::uint64_t>(1000, 1));
  std::vector<std::uint64_t> uneven;
  for (std::uint64_t i = 0; i < 500; ++i) uneven.push_back(i * i % 97);
  expect_right(uneven);
}

TEST(ShardTable, HoldsAsManySamplesAsAnIndexCan) {
  const std::vector<std::uint64_t> sizes(1000, 4294967295);
  const ShardTable table(sizes);
  EXPECT_EQ(table.samples(), 4294967295000u);
  EXPECT_EQ(table.find(4294967294999).shard, 999u);
  EXPECT_EQ(table.find(4294967294999).sample, 4294967294u);
  EXPECT_EQ(table.find(4294967295).shard, 1u);
  EXPECT_EQ(table.find(4294967295).sample, 0u);
}

}  // namespace
}  // namespace ratoon::mds::shard_table_test
