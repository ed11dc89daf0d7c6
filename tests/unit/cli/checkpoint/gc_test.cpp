#include "cli/checkpoint/gc.h"

#include <gmock/gmock.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::gc_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Seen { kAsFolder, kAsStore };

class GcTest : public RunFixture, public testing::WithParamInterface<Seen> {
 protected:
  GcTest() {
    if (GetParam() == Seen::kAsStore) disk_ = as_store();
  }
  std::vector<std::string> plan(const GcRules& rules) {
    std::vector<std::string> words;
    for (const GcItem& item : plan_gc(survey(), rules).items)
      words.push_back(std::string(name_of(item.kind)) + " " + checkpoint_text(item.id));
    return words;
  }
  Result<void> carry_out_all(const GcRules& rules) {
    const Survey now = survey();
    const GcPlan planned = plan_gc(now, rules);
    std::size_t removed = 0;
    auto done = run_gc(*disk_, now, planned, [](std::uint64_t) {}, [&](const GcItem&) { ++removed; });
    EXPECT_EQ(removed, done ? planned.items.size() : 0);
    return done;
  }
  bool has_packs(const checkpoint::CheckpointId& which) {
    for (const std::string& folder : {checkpoint::packs_folder(which), checkpoint::receipts_folder(which)}) {
      const bool is_empty = checkpoint::list_if_there(*disk_, folder).value().empty();
      // An empty folder exists in a folder, but not in a store.
      if (!is_empty || (GetParam() == Seen::kAsFolder && std::filesystem::exists(run_ / folder))) return true;
    }
    return false;
  }
  void leave(const checkpoint::CheckpointId& which) { write_rank(which, 0, {whole(tensor("w", {10}))}); }
  static constexpr GcRules kEverything{.keep_last = 1, .empties_quarantine = true};
};

TEST_P(GcTest, TakesOnlyWhatOlderAttemptsNeverCommitted) {
  commit_plain(id(1, 10));
  leave(id(1, 20));
  commit_plain(id(2, 15));
  leave(id(2, 25));
  leave(id(3, 25));
  EXPECT_THAT(plan({}), ElementsAre("uncommitted step 20 of attempt 1"));
  ASSERT_TRUE(carry_out_all({}));
  EXPECT_FALSE(has_packs(id(1, 20)));
  EXPECT_TRUE(has_packs(id(2, 25))) << "it may be being written";
  EXPECT_TRUE(has_packs(id(3, 25)));
  EXPECT_THAT(plan({}), IsEmpty());
}

// A rank commits in order: a checkpoint beside a newer one of its attempt is never committed any more.
TEST_P(GcTest, TakesWhatTheNewestAttemptPassedOver) {
  leave(id(1, 10));
  commit_plain(id(1, 20));
  leave(id(1, 30));
  EXPECT_THAT(plan({}), ElementsAre("uncommitted step 10 of attempt 1"));
  ASSERT_TRUE(carry_out_all({}));
  EXPECT_FALSE(has_packs(id(1, 10)));
  EXPECT_TRUE(has_packs(id(1, 30))) << "it may be being written";
}

// A run that retires a checkpoint and finds it pinned puts its manifest back: for a moment it has none.
TEST_P(GcTest, WhatWasNeverCommittedAndIsPinnedStays) {
  leave(id(1, 10));
  commit_plain(id(1, 20));
  ASSERT_TRUE(checkpoint::pin(*disk_, id(1, 10), "x", "mark"));
  const Survey before = survey();
  ASSERT_TRUE(
      run_gc(*disk_, before, plan_gc(before, {}), [](std::uint64_t) {}, [](const GcItem&) { FAIL(); }));
  EXPECT_TRUE(has_packs(id(1, 10)));
}

TEST_P(GcTest, KeepsWhatTheRulesKeep) {
  for (const std::uint64_t step : {10, 20, 30, 40}) commit_plain(id(1, step));
  EXPECT_THAT(plan({.keep_last = 2}),
              ElementsAre("retired step 20 of attempt 1", "retired step 10 of attempt 1"));
  EXPECT_THAT(plan({.keep_last = 1, .keep_every = 20}),
              ElementsAre("retired step 30 of attempt 1", "retired step 10 of attempt 1"));
  ASSERT_TRUE(carry_out_all({.keep_last = 3}));
  EXPECT_EQ(survey().checkpoints.size(), 3u);
}

TEST_P(GcTest, WhatIsPinnedStays) {
  for (const std::uint64_t step : {10, 20, 30, 40, 50}) commit_plain(id(1, step));
  for (const std::uint64_t step : {10, 30}) ASSERT_TRUE(checkpoint::pin(*disk_, id(1, step), "x", "mark"));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 30), "a flipped bit"));
  EXPECT_THAT(plan(kEverything), ElementsAre("retired step 40 of attempt 1", "retired step 20 of attempt 1"));
  ASSERT_TRUE(carry_out_all(kEverything));
  for (const std::uint64_t step : {10, 30, 50}) EXPECT_TRUE(has_packs(id(1, step))) << step;
  EXPECT_EQ(survey().checkpoints.size(), 3u);
}

// Reading the newest checkpoint to its last byte takes time.
TEST_P(GcTest, WhatIsPinnedBetweenThePlanAndItsRemovalStays) {
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  const Survey before = survey();
  ASSERT_TRUE(checkpoint::pin(*disk_, id(1, 10), "x", "mark"));
  std::vector<checkpoint::CheckpointId> removed;
  ASSERT_TRUE(run_gc(
      *disk_, before, plan_gc(before, kEverything), [](std::uint64_t) {},
      [&](const GcItem& item) { removed.push_back(item.id); }));
  EXPECT_THAT(removed, ElementsAre(id(1, 20)));
  EXPECT_TRUE(has_packs(id(1, 10)));
  EXPECT_EQ(survey().checkpoints.size(), 2u);
}

TEST_P(GcTest, WhatIsInQuarantineAndPinnedAfterThePlanStays) {
  for (const std::uint64_t step : {10, 20}) commit_plain(id(1, step));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  const Survey before = survey();
  const GcPlan planned = plan_gc(before, kEverything);
  ASSERT_EQ(planned.items.size(), 1u);
  ASSERT_TRUE(checkpoint::pin(*disk_, id(1, 10), "x", "mark"));
  std::size_t removed = 0;
  ASSERT_TRUE(run_gc(*disk_, before, planned, [](std::uint64_t) {}, [&](const GcItem&) { ++removed; }));
  EXPECT_EQ(removed, 0u) << "nothing is said to be gone";
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 10), 0)));
  EXPECT_TRUE(std::filesystem::exists(run_ / checkpoint::receipt_path(id(1, 10), Rank(0))));
}

TEST_P(GcTest, PacksInQuarantineThatArePinnedWhileTheirVotesGoStay) {
  for (const std::uint64_t step : {10, 20}) commit_plain(id(1, step));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  const Survey before = survey();
  const std::shared_ptr<checkpoint::Disk> borrowed(disk_.get(), [](checkpoint::Disk*) {});
  test::ObservedDisk observed(
      borrowed, [&](test::DiskCall call, const std::string& path, test::Moment moment) {
        const bool is_vote = call == test::DiskCall::kRemove && path.starts_with(checkpoint::kReceipts);
        if (is_vote && moment == test::Moment::kBefore) {
          EXPECT_TRUE(checkpoint::pin(*disk_, id(1, 10), "x", "mark"));
        }
      });
  ASSERT_TRUE(run_gc(
      observed, before, plan_gc(before, kEverything), [](std::uint64_t) {}, [](const GcItem&) { FAIL(); }));
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 10), 0)));
}

TEST_P(GcTest, NothingGoesWhereTheNewestDoesNotReadBack) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  flip(pack(id(1, 20), 1), 5);
  const auto done = carry_out_all({.keep_last = 1});
  ASSERT_FALSE(done);
  EXPECT_EQ(code_of(done.error()), 83);
  EXPECT_THAT(done.error().message(), HasSubstr("nothing is removed"));
  EXPECT_EQ(survey().checkpoints.size(), 2u);
}

TEST_P(GcTest, TheQuarantineGoesOnlyBeforeSomethingGood) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  commit_plain(id(1, 30));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 30), "another"));
  EXPECT_THAT(plan({}), IsEmpty()) << "only who asks for it";
  EXPECT_THAT(plan({.empties_quarantine = true}), ElementsAre("quarantined step 10 of attempt 1"));
  ASSERT_TRUE(carry_out_all({.empties_quarantine = true}));
  EXPECT_FALSE(has_packs(id(1, 10)));
  EXPECT_TRUE(has_packs(id(1, 30)));
  EXPECT_EQ(survey().checkpoints.size(), 2u) << "20 and 30";
}

// Its packs were moved elsewhere: a checkpoint that cannot be removed completely stays completely.
TEST_P(GcTest, WithALinkInTheWayNothingOfItGoes) {
  if (GetParam() == Seen::kAsStore) return;  // an object is no link
  commit_plain(id(1, 10));
  leave(id(1, 20));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  commit_plain(id(2, 30));
  const Survey before = survey();
  const GcPlan planned = plan_gc(before, kEverything);
  ASSERT_EQ(planned.items.size(), 2u);
  const auto elsewhere = folder_ / "elsewhere";
  for (const char* name : {"packs/a0001", "receipts/a0001"}) {
    std::filesystem::rename(run_ / name, elsewhere);
    std::filesystem::create_directory_symlink(elsewhere, run_ / name);
    for (const GcItem& item : planned.items) {
      const auto done = run_gc(
          *disk_, before, {.newest = planned.newest, .items = {item}}, [](std::uint64_t) {},
          [](const GcItem&) { FAIL(); });
      ASSERT_FALSE(done);
      EXPECT_THAT(done.error().message(), HasSubstr("links in a run's folder are not followed"));
    }
    std::filesystem::remove(run_ / name);
    std::filesystem::rename(elsewhere, run_ / name);
    for (const checkpoint::CheckpointId& one : {id(1, 10), id(1, 20)}) {
      EXPECT_TRUE(std::filesystem::exists(pack(one, 0))) << name << " " << checkpoint_text(one);
      EXPECT_TRUE(std::filesystem::exists(run_ / checkpoint::receipt_path(one, Rank(0))))
          << name << " " << checkpoint_text(one);
    }
  }
  EXPECT_TRUE(carry_out_all(kEverything));
}

TEST_P(GcTest, WhereOnlyBadOnesAreNothingIsForgotten) {
  commit_plain(id(1, 10));
  leave(id(1, 20));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  EXPECT_THAT(plan(kEverything), IsEmpty());
}

TEST_P(GcTest, FilesOfOthersStay) {
  commit_plain(id(1, 10));
  leave(id(1, 20));
  commit_plain(id(2, 30));
  const auto mine = run_ / checkpoint::packs_folder(id(1, 20)) / "notes.txt";
  test::write_text(mine, "mine");
  test::write_text(run_ / "packs/a0001/notes.txt", "mine");
  test::write_text(run_ / "quarantine.txt", "mine");
  ASSERT_TRUE(carry_out_all(kEverything));
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_TRUE(std::filesystem::exists(run_ / "packs/a0001/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(pack(id(1, 20), 0)));
  EXPECT_FALSE(has_packs(id(1, 10)));
}

// Between the survey and the removal: a commit of an older attempt that no start would choose.
TEST_P(GcTest, ALateCommitOfAnOlderAttemptLeavesNoManifestWithoutPacks) {
  write_rank(id(1, 20), 0, {whole(tensor("w", {10}))});
  commit_plain(id(2, 30));
  const Survey before = survey();
  const auto late = store_.try_commit(id(1, 20), 1);
  ASSERT_TRUE(late && *late);
  const GcPlan planned = plan_gc(before, {});
  ASSERT_TRUE(run_gc(*disk_, before, planned, [](std::uint64_t) {}, [](const GcItem&) {}));
  const Survey after = survey();
  ASSERT_EQ(after.checkpoints.size(), 1u);
  EXPECT_EQ(after.checkpoints[0].id, id(2, 30));
  EXPECT_THAT(after.uncommitted, IsEmpty());
}

TEST_P(GcTest, AManifestWithoutAPackTakesNobodysPlace) {
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  std::filesystem::remove(pack(id(1, 20), 0));
  EXPECT_THAT(plan({.keep_last = 2}), IsEmpty()) << "30 and 10 are two";
}

// Between the survey and the removal: a checkpoint that a run found bad, or gave up, stays for a user who
// wants it back.
TEST_P(GcTest, PacksOfWhatWasSetAsideMeanwhileStay) {
  for (const std::uint64_t step : {10, 20}) leave(id(1, step));
  commit_plain(id(2, 30));
  const Survey before = survey();
  for (const std::uint64_t step : {10, 20}) {
    const auto late = store_.try_commit(id(1, step), 1);
    ASSERT_TRUE(late && *late);
  }
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  std::filesystem::create_directory(run_ / checkpoint::kAsideFolder);
  const std::string name = std::filesystem::path(checkpoint::manifest_path(id(1, 20))).filename();
  std::filesystem::rename(run_ / checkpoint::kManifests / name, run_ / checkpoint::kAsideFolder / name);
  std::size_t removed = 0;
  ASSERT_TRUE(
      run_gc(*disk_, before, plan_gc(before, {}), [](std::uint64_t) {}, [&](const GcItem&) { ++removed; }));
  EXPECT_EQ(removed, 0u) << "nothing is said to be gone";
  for (const std::uint64_t step : {10, 20}) {
    EXPECT_TRUE(std::filesystem::exists(pack(id(1, step), 0))) << step;
    EXPECT_TRUE(std::filesystem::exists(run_ / checkpoint::receipt_path(id(1, step), Rank(0)))) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Places, GcTest, testing::Values(Seen::kAsFolder, Seen::kAsStore),
                         [](const auto& place) {
                           return place.param == Seen::kAsStore ? "Store" : "Folder";
                         });

}  // namespace
}  // namespace ratoon::cli::gc_test
