#include "agent/src/checkpoint/retention/pins.h"

#include <gmock/gmock.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::pins_test {
namespace {

using ratoon::test::DiskCall;
using ratoon::test::Moment;
using ratoon::test::ObservedDisk;
using test::id;
using testing::ElementsAre;
using testing::IsEmpty;

enum class Seen { kAsFolder, kAsStore };

// A run of steps 10 to 50, and a person who pins step 20 during the run's work.
class PinsTest : public testing::TestWithParam<Seen> {
 protected:
  PinsTest() : disk_(place()) {
    for (std::uint64_t step = 10; step <= 50; step += 10) test::digest_of_commit(disk_, id(1, step));
  }
  std::shared_ptr<Disk> place() const {
    if (GetParam() == Seen::kAsStore) return test::store_at(folder_ / "run");
    return test::folder_at(folder_ / "run");
  }
  // The person counts it as pinned if its manifest exists afterwards.
  bool pin_and_look() {
    EXPECT_TRUE(pin(*disk_, id(1, 20), "by hand", "person"));
    return !is_without_manifest(id(1, 20));
  }
  bool is_without_manifest(const CheckpointId& which) const {
    const auto manifest = read_manifest(*disk_, which);
    return !manifest && manifest.error().kind() == ErrorKind::kNotFound;
  }
  static constexpr KeepRules kTheNewest{.last = 1};

  const ratoon::test::TemporaryFolder folder_;
  const std::shared_ptr<Disk> disk_;
};

TEST_P(PinsTest, WhatIsPinnedWhileTheRunRetiresStays) {
  bool is_pinned_now = false;
  const auto seen =
      std::make_shared<ObservedDisk>(place(), [&](DiskCall call, const std::string& path, Moment) {
        // The run has chosen the checkpoints to remove, and reads the newest.
        if (is_pinned_now || call != DiskCall::kOpen || path != pack_path(id(1, 50), Rank(0))) return;
        is_pinned_now = true;
        EXPECT_TRUE(pin_and_look());
      });
  ASSERT_TRUE(test::run_in(seen).retire_old(kTheNewest, Attempt(1)));
  ASSERT_TRUE(is_pinned_now);
  EXPECT_THAT(test::complete_in(*disk_), ElementsAre(id(1, 50), id(1, 20)));
}

// At each call of the run: a checkpoint that was reported as pinned exists afterwards, with all its bytes.
TEST_P(PinsTest, OneOfTheTwoAlwaysKnows) {
  int told = 0;
  int refused = 0;
  for (int at = 0;; ++at) {
    if (is_without_manifest(id(1, 20))) {
      ASSERT_TRUE(remove_checkpoint(*disk_, id(1, 20)));
      test::digest_of_commit(disk_, id(1, 20));
    }
    ASSERT_TRUE(unpin(*disk_, id(1, 20)));
    int calls = 0;
    bool is_there = false;
    ObservedDisk seen(place(), [&](DiskCall, const std::string&, Moment) {
      if (calls++ == at) is_there = pin_and_look();
    });
    ASSERT_TRUE(retire_checkpoint(seen, id(1, 20), "run")) << at;
    if (calls <= at) break;
    if (is_there) {
      EXPECT_TRUE(test::run_in(disk_).verify(id(1, 20))) << at;
      ++told;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(told, 3);
  EXPECT_GT(refused, 3);
}

// A process that is killed at any moment leaves it unchanged after that.
TEST_P(PinsTest, NothingOfWhatWasPinnedBeforeIsTouched) {
  ASSERT_TRUE(pin_and_look());
  ObservedDisk seen(place(), [&](DiskCall call, const std::string& path, Moment) {
    EXPECT_TRUE(call == DiskCall::kOpen || call == DiskCall::kList) << path;
  });
  EXPECT_FALSE(*retire_checkpoint(seen, id(1, 20), "run"));
}

TEST_P(PinsTest, WhereNobodyCanSayWhetherItIsPinnedItStays) {
  if (GetParam() == Seen::kAsStore) return;  // an object is no link
  ASSERT_TRUE(pin(*disk_, id(1, 20), "by hand", "person"));
  std::filesystem::rename(folder_ / "run/pins", folder_ / "elsewhere");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", folder_ / "run/pins");
  EXPECT_FALSE(retire_checkpoint(*disk_, id(1, 20), "run"));
  EXPECT_TRUE(test::run_in(disk_).verify(id(1, 20)));
}

TEST_P(PinsTest, PinningTwiceIsTheSame) {
  EXPECT_TRUE(*pin(*disk_, id(1, 20), "best accuracy", "m"));
  EXPECT_FALSE(*pin(*disk_, id(1, 20), "again", "m"));
  EXPECT_EQ(pin_reason(*disk_, id(1, 20)), "best accuracy");
  EXPECT_THAT(test::complete_in(*disk_).size(), 5u);
}

TEST_P(PinsTest, AreReadNewestFirstWhateverLiesBesideThem) {
  EXPECT_THAT(read_pins(*disk_).value(), IsEmpty());
  for (const CheckpointId& which : {id(2, 10), id(1, 20), id(1, 30)})
    ASSERT_TRUE(pin(*disk_, which, "of " + std::to_string(which.step.value()), "m"));
  for (const char* name : {"README", ".s0000000040.a0001.json.m.tmp", "s40.a1.json"})
    ratoon::test::write_text(folder_ / "run/pins" / name, "mine");
  const auto pins = read_pins(*disk_);
  std::vector<std::string> reasons;
  for (const Pin& one : *pins) reasons.push_back(one.why);
  EXPECT_THAT(reasons, ElementsAre("of 10", "of 30", "of 20"));
}

TEST_P(PinsTest, AReasonOnTheDiskMayBeAnything) {
  ASSERT_TRUE(pin(*disk_, id(1, 20), "x", "m"));
  const struct {
    std::string text;
    std::string shown;
  } cases[] = {{"", "no reason is noted"},
               {"\n\n", "no reason is noted"},
               {"best\n", "best"},
               {"größte\n", "größte"},
               {"two\nlines\n", "two?lines"},
               {std::string("\x1b[2J\0\x7f\r", 7), "?[2J???"},
               {"a\xc2\x9b"
                "2Jb",
                "a?2Jb"},
               {"\x9b\xff", "??"},
               {std::string(1'000'000, 'x'), std::string(256, 'x')},
               {std::string(255, 'x') + "ö", std::string(255, 'x')}};
  for (const auto& c : cases) {
    ratoon::test::write_text(folder_ / "run/pins/s0000000020.a0001.json", c.text);
    EXPECT_EQ(pin_reason(*disk_, id(1, 20)), c.shown);
  }
}

Manifest with_best(const CheckpointId& of, std::vector<CheckpointId> kept) {
  BestCheckpointList best{.name = "loss"};
  for (const CheckpointId& one : kept) best.kept.push_back({.id = one, .value = 1});
  Manifest manifest{.id = of};
  manifest.run.emplace().best.push_back(best);
  return manifest;
}

TEST_P(PinsTest, AManifestRemovesThePinsOfSaveBestThatItsListsDoNotHave) {
  const std::string mark = mark_as_best("best loss: 1");
  for (const auto& which : {id(1, 10), id(1, 20), id(1, 30), id(1, 50)})
    ASSERT_TRUE(pin(*disk_, which, mark, "run"));
  ASSERT_TRUE(pin(*disk_, id(1, 40), "by hand", "person"));
  unpin_no_longer_best(*disk_, with_best(id(1, 40), {id(1, 20)}));
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 20), id(1, 40), id(1, 50)}))
      << "50 is newer than the manifest, and 40 is the pin of a person";
  Manifest without{.id = id(1, 60)};
  without.run.emplace();
  unpin_no_longer_best(*disk_, without);
  EXPECT_EQ(list_pinned(*disk_).value().size(), 3u) << "a manifest without lists knows nothing of them";
}

// Its save was missed, or this place has no copy of it.
TEST_P(PinsTest, ABestCheckpointThatDoesNotExistBeatsNone) {
  const std::string mark = mark_as_best("best loss: 1");
  ASSERT_TRUE(pin(*disk_, id(1, 10), mark, "run"));
  ASSERT_TRUE(pin(*disk_, id(1, 20), mark, "run"));
  unpin_no_longer_best(*disk_, with_best(id(1, 50), {id(1, 45), id(1, 20), id(1, 10)}));
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 20)}));
}

TEST_P(PinsTest, APinOfSaveBestGivesWayToThatOfAPerson) {
  ASSERT_TRUE(pin(*disk_, id(1, 20), mark_as_best("best loss: 1"), "run").value());
  EXPECT_TRUE(pin(*disk_, id(1, 20), "by hand", "person").value());
  EXPECT_EQ(pin_reason(*disk_, id(1, 20)), "by hand");
  EXPECT_FALSE(pin(*disk_, id(1, 20), mark_as_best("best loss: 1"), "run").value());
  unpin_no_longer_best(*disk_, with_best(id(1, 50), {id(1, 30)}));
  EXPECT_EQ(pin_reason(*disk_, id(1, 20)), "by hand");
}

// The pin of save_best() goes when the checkpoint is no longer among the best.
TEST_P(PinsTest, APinOfAPersonBesideThatOfSaveBestStaysAlone) {
  ASSERT_TRUE(pin(*disk_, id(1, 20), mark_as_best("best loss: 1"), "run").value());
  ASSERT_TRUE(pin(*disk_, id(1, 20), "by hand", "person").value());
  EXPECT_FALSE(pin(*disk_, id(1, 20), "again", "person").value());
  unpin_no_longer_best(*disk_, with_best(id(1, 50), {id(1, 30)}));
  EXPECT_FALSE(disk_->open(pin_path(id(1, 20))));
  EXPECT_TRUE(is_pinned(*disk_, id(1, 20)).value());
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 20)}));
  ASSERT_TRUE(unpin(*disk_, id(1, 20)));
  EXPECT_FALSE(is_pinned(*disk_, id(1, 20)).value());
  EXPECT_THAT(list_pinned(*disk_).value(), IsEmpty());
}

// A pin that cannot be made, because the disk is full or the process is killed, removes no other pin.
TEST_P(PinsTest, APinOfSaveBestStaysUntilThatOfThePersonIsThere) {
  ASSERT_TRUE(pin(*disk_, id(1, 20), mark_as_best("best loss: 1"), "run").value());
  const auto seen = std::make_shared<ObservedDisk>(place(), [&](DiskCall, const std::string&, Moment) {
    EXPECT_TRUE(is_pinned(*disk_, id(1, 20)).value());
  });
  ASSERT_TRUE(pin(*seen, id(1, 20), "by hand", "person").value());
}

// A copy of the missing pack elsewhere can still repair the checkpoint.
TEST_P(PinsTest, WhatIsLeftOfAPinnedCheckpointOfAnOlderAttemptStays) {
  RunStore store = test::run_in(disk_);
  const std::string bytes = "weights";
  const TensorView view{.name = "w", .shape = {bytes.size()}, .bytes = std::as_bytes(std::span(bytes))};
  for (const auto& which : {id(1, 60), id(1, 70)}) {
    for (const std::uint32_t rank : {0, 1})
      ASSERT_TRUE(store.write_pack(which, Rank(rank), std::span(&view, 1)));
    ASSERT_TRUE(store.try_commit(which, 2));
    ASSERT_TRUE(disk_->remove(pack_path(which, Rank(1))));
  }
  ASSERT_TRUE(pin(*disk_, id(1, 60), "by hand", "person"));
  ASSERT_TRUE(sweep_uncommitted(*disk_, id(2, 80)));
  EXPECT_FALSE(is_without_manifest(id(1, 60)));
  EXPECT_TRUE(disk_->open(pack_path(id(1, 60), Rank(0))));
  EXPECT_TRUE(is_without_manifest(id(1, 70))) << "this one is not pinned";
}

Manifest with_unpinned(const CheckpointId& of, const UnpinnedStep& unpinned) {
  Manifest manifest{.id = of};
  manifest.run.emplace().unpinned.push_back(unpinned);
  return manifest;
}

TEST_P(PinsTest, TheFirstManifestWithARequestRemovesThePin) {
  for (const auto& which : {id(1, 20), id(1, 30)}) ASSERT_TRUE(pin(*disk_, which, "a milestone", "run"));
  ASSERT_TRUE(unpin_if_requested(*disk_, with_unpinned(id(1, 50), {.step = 20, .since = id(1, 50)})));
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 30)}));
}

// A store gets only some of the checkpoints, so the first one that it gets may come later.
TEST_P(PinsTest, ALaterManifestRemovesThePinIfThisPlaceHasNoEarlierOneWithTheRequest) {
  ASSERT_TRUE(pin(*disk_, id(1, 20), "a milestone", "run"));
  ASSERT_TRUE(unpin_if_requested(*disk_, with_unpinned(id(1, 70), {.step = 20, .since = id(1, 60)})));
  EXPECT_THAT(list_pinned(*disk_).value(), IsEmpty());
  ASSERT_TRUE(pin(*disk_, id(1, 20), "by hand", "person"));
  ASSERT_TRUE(unpin_if_requested(*disk_, with_unpinned(id(1, 70), {.step = 20, .since = id(1, 40)})));
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 20)})) << "50 has removed the program's pin";
}

TEST_P(PinsTest, ARequestDoesNotConcernThePinsOfItsOwnOrLaterCheckpoints) {
  for (const auto& which : {id(1, 50), id(2, 50)}) ASSERT_TRUE(pin(*disk_, which, "a milestone", "run"));
  ASSERT_TRUE(unpin_if_requested(*disk_, with_unpinned(id(1, 50), {.step = 50, .since = id(1, 50)})));
  EXPECT_EQ(list_pinned(*disk_).value().size(), 2u);
  ASSERT_TRUE(unpin_step(*disk_, Step(50)));
  EXPECT_THAT(list_pinned(*disk_).value(), IsEmpty());
}

// Lets rank 0, which is alone, vote for a checkpoint with requests of the program.
void vote_for(Disk& disk, const CheckpointId& which, RunRecord run) {
  const std::string bytes = "weights";
  const TensorView view{.name = "w", .shape = {bytes.size()}, .bytes = std::as_bytes(std::span(bytes))};
  auto record = write_unvoted_pack(disk, which, Rank(0), std::span(&view, 1), "run");
  ASSERT_TRUE(record);
  record->run = std::move(run);
  ASSERT_TRUE(write_receipt(disk, which, *record, "run"));
}

// Otherwise another process could remove the checkpoint before it is pinned.
TEST(PinOfACommit, IsMadeBeforeTheManifest) {
  const auto disk = std::make_shared<ratoon::test::ModelDisk>();
  test::digest_of_commit(disk, id(1, 10));
  vote_for(*disk, id(1, 20), {.keep = "a milestone"});
  disk->set_faults([](DiskCall call, const std::string& path) {
    const bool is_refused = call == DiskCall::kCreate && path.starts_with("pins/");
    return ratoon::test::Fault{.error = is_refused ? std::optional(Error(ErrorKind::kUnavailable, "refused"))
                                                   : std::nullopt};
  });
  EXPECT_FALSE(try_commit(*disk, id(1, 20), 1, "run"));
  EXPECT_THAT(test::complete_in(*disk), ElementsAre(id(1, 10)));
  disk->set_faults({});
  EXPECT_TRUE(try_commit(*disk, id(1, 20), 1, "run"));
  EXPECT_EQ(list_pinned(*disk).value(), (std::set{id(1, 20)}));
}

// A disk with the committed steps 10 and 20, both pinned, and a save of step 30 that requests to unpin
// step 20.
class UnpinTest : public testing::Test {
 protected:
  UnpinTest() {
    for (std::uint64_t step = 10; step <= 20; step += 10) {
      test::digest_of_commit(disk_, id(1, step));
      EXPECT_TRUE(pin(*disk_, id(1, step), "a milestone", "run"));
    }
    vote_for(*disk_, kNext, {.unpinned = {{.step = 20, .since = kNext}}});
  }
  Result<std::optional<InventoryEntry>> commit() { return try_commit(*disk_, kNext, 1, "run"); }
  void refuse_removals(ErrorKind kind) {
    disk_->set_faults([kind](DiskCall call, const std::string& path) {
      const bool is_refused = call == DiskCall::kRemove && path.starts_with("pins/");
      return ratoon::test::Fault{.error = is_refused ? std::optional(Error(kind, "refused")) : std::nullopt};
    });
  }

  static constexpr CheckpointId kNext{.attempt = Attempt(1), .step = Step(30)};
  const std::shared_ptr<ratoon::test::ModelDisk> disk_ = std::make_shared<ratoon::test::ModelDisk>();
};

TEST_F(UnpinTest, NoManifestIsWrittenWhileThePinCannotBeRemoved) {
  refuse_removals(ErrorKind::kUnavailable);
  EXPECT_FALSE(commit());
  EXPECT_THAT(test::complete_in(*disk_), ElementsAre(id(1, 20), id(1, 10)));
  disk_->set_faults({});
  EXPECT_TRUE(commit());
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 10)}));
}

// Otherwise a run whose credentials permit no removal could save nothing.
TEST_F(UnpinTest, APinThatMayNotBeRemovedStaysAndTheCheckpointIsCommitted) {
  refuse_removals(ErrorKind::kPermissionDenied);
  EXPECT_TRUE(commit());
  EXPECT_EQ(list_pinned(*disk_).value(), (std::set{id(1, 10), id(1, 20)}));
}

TEST_F(UnpinTest, AfterAPowerCutTheManifestOrThePinIsThereAndNotBoth) {
  const auto before = disk_->image();
  const auto at = static_cast<std::ptrdiff_t>(disk_->log().size());
  ASSERT_TRUE(commit());
  const std::vector<ratoon::test::DiskOp> ops(disk_->log().begin() + at, disk_->log().end());
  const auto judge = [](const ratoon::test::CrashState& state) -> std::optional<std::string> {
    const auto left = std::make_shared<ratoon::test::ModelDisk>(state.image);
    const bool is_committed = static_cast<bool>(read_manifest(*left, kNext));
    const bool is_still_pinned = list_pinned(*left).value().contains(id(1, 20));
    if (!is_committed || !is_still_pinned) return std::nullopt;
    return "no later manifest removes the pin of step 20";
  };
  const auto report = ratoon::test::check_crashes({.before = before, .ops = ops, .chances_a_cut = 50}, judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  EXPECT_GT(report.distinct, 3u);
}

INSTANTIATE_TEST_SUITE_P(Places, PinsTest, testing::Values(Seen::kAsFolder, Seen::kAsStore),
                         [](const auto& place) {
                           return place.param == Seen::kAsStore ? "Store" : "Folder";
                         });

}  // namespace
}  // namespace ratoon::checkpoint::pins_test
