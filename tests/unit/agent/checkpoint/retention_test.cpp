#include "agent/src/checkpoint/retention/retention.h"

#include <gmock/gmock.h>

#include "agent/src/checkpoint/retention/pins.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::retention_test {
namespace {

using test::id;
using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<CheckpointId>;

std::vector<KeptCheckpoint> steps(std::initializer_list<std::uint64_t> newest_first) {
  std::vector<KeptCheckpoint> all;
  for (const std::uint64_t step : newest_first) all.push_back({.id = id(1, step), .size_bytes = 100});
  return all;
}
Ids of(std::initializer_list<std::uint64_t> steps) {
  Ids ids;
  for (const std::uint64_t step : steps) ids.push_back(id(1, step));
  return ids;
}

TEST(Retention, KeepsTheLastAndMilestones) {
  const auto all = steps({60, 50, 40, 30, 20, 10});
  EXPECT_EQ(choose_retired(all, {.last = 2}, Attempt(1)), of({40, 30, 20, 10}));
  EXPECT_EQ(choose_retired(all, {.last = 1, .every_steps = 20}, Attempt(1)), of({50, 30, 10}));
  EXPECT_THAT(choose_retired(all, {.last = kKeepAll}, Attempt(1)), IsEmpty());
  EXPECT_THAT(choose_retired(all, {.last = 1}, Attempt(0)), IsEmpty()) << "who is behind does not clean up";
  EXPECT_THAT(choose_retired({}, {.last = 0, .bytes_max = 0}, Attempt(1)), IsEmpty());
}

TEST(Retention, WhatIsPinnedStays) {
  auto all = steps({40, 30, 20, 10});
  all[2].is_pinned = true;
  EXPECT_EQ(choose_retired(all, {.last = 1}, Attempt(1)), of({30, 10}));
  EXPECT_EQ(choose_retired(all, {.last = 4, .bytes_max = 0}, Attempt(1)), of({30, 10}));
  all[0].is_in_store = all[2].is_in_store = true;
  EXPECT_EQ(choose_retired(all, {.last = 0}, Attempt(1)), of({40, 30, 10}));
}

TEST(Retention, ACapTakesTheOldestFirstAndNeverTheNewest) {
  const auto all = steps({40, 30, 20, 10});
  EXPECT_THAT(choose_retired(all, {.last = 4, .bytes_max = 400}, Attempt(1)), IsEmpty());
  EXPECT_EQ(choose_retired(all, {.last = 4, .bytes_max = 399}, Attempt(1)), of({10}));
  EXPECT_EQ(choose_retired(all, {.last = 4, .every_steps = 10, .bytes_max = 250}, Attempt(1)), of({20, 10}));
  EXPECT_EQ(choose_retired(all, {.last = 4, .bytes_max = 1}, Attempt(1)), of({30, 20, 10}));
  EXPECT_EQ(choose_retired(all, {.last = 2, .bytes_max = 100}, Attempt(1)), of({30, 20, 10}));
  EXPECT_THAT(choose_retired(all, {.last = 4, .bytes_max = 1}, Attempt(0)), IsEmpty());
}

TEST(Retention, NoLocalCopyOnceAStoreHoldsIt) {
  auto all = steps({40, 30, 20});
  EXPECT_EQ(choose_retired(all, {.last = 0}, Attempt(1)), of({30, 20})) << "no store has anything";
  all[1].is_in_store = all[2].is_in_store = true;
  EXPECT_EQ(choose_retired(all, {.last = 0}, Attempt(1)), of({30, 20})) << "the newest is only here";
  all[0].is_in_store = true;
  EXPECT_EQ(choose_retired(all, {.last = 0}, Attempt(1)), of({40, 30, 20}));
  EXPECT_EQ(choose_retired(all, {.last = 1}, Attempt(1)), of({30, 20})) << "asked to keep one, it keeps one";
}

TEST(Retention, PinsAndCapsOfAFolder) {
  const ratoon::test::TemporaryFolder folder;
  const auto disk = test::folder_at(folder / "run");
  for (std::uint64_t step = 10; step <= 50; step += 10) test::digest_of_commit(disk, id(1, step), 1000);
  ASSERT_TRUE(pin(*disk, id(1, 20), "best accuracy", "m"));
  ASSERT_TRUE(pin(*disk, id(1, 20), "again", "m"));
  EXPECT_EQ(ratoon::test::read_text(folder / "run/pins/s0000000020.a0001.json"), "best accuracy\n");
  const std::uint64_t one = std::filesystem::file_size(folder / "run" / pack_path(id(1, 10), Rank(0)));
  const RunStore run = test::run_in(disk);
  ASSERT_TRUE(run.retire_old({.last = 1}, Attempt(1),
                             {.in_store = {}, .being_copied = {id(1, 10), id(1, 20), id(1, 30), id(1, 40)}}));
  EXPECT_EQ(test::complete_in(*disk).size(), 5u) << "what is being copied stays for so long";
  ASSERT_TRUE(run.retire_old({.last = 4, .bytes_max = 3 * one}, Attempt(1)));
  EXPECT_THAT(test::complete_in(*disk), ElementsAre(id(1, 50), id(1, 40), id(1, 20)));
  ASSERT_TRUE(run.retire_old({.last = 1}, Attempt(1)));
  EXPECT_THAT(test::complete_in(*disk), ElementsAre(id(1, 50), id(1, 20)));
  ASSERT_TRUE(unpin(*disk, id(1, 20)));
  ASSERT_TRUE(unpin(*disk, id(1, 20)));
  ASSERT_TRUE(run.retire_old({.last = 1}, Attempt(1)));
  EXPECT_THAT(test::complete_in(*disk), ElementsAre(id(1, 50)));
}

}  // namespace
}  // namespace ratoon::checkpoint::retention_test
