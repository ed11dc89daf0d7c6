#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "agent/src/checkpoint/tiers/resume_choice.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "base/contract/resume_point.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::rollback_test {
namespace {

using test::complete_in;
using test::id;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Rollback back(std::uint64_t attempt, const CheckpointId& to, std::uint64_t skip_to = 0) {
  return {.attempt = Attempt(attempt), .to = to, .skip = skip_to == 0 ? 0U : 1U, .skip_to = skip_to};
}

TEST(Rollback, IsWrittenAsTheFormatSays) {
  const Rollback rollback{.attempt = Attempt(7), .to = id(3, 12000), .skip = 200000, .skip_to = 1736000};
  const std::string text = encode_rollback(rollback);
  EXPECT_EQ(text,
            "{\n \"attempt\": 7,\n \"format\": 1,\n \"skip\": 200000,\n \"skip_to\": 1736000,\n \"to\": {\n"
            "  \"attempt\": 3,\n  \"step\": 12000\n }\n}\ncrc32c:96c91ece\n");
  EXPECT_EQ(decode_rollback(text).value(), rollback);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(decode_rollback(damaged)) << at;
    EXPECT_FALSE(decode_rollback(text.substr(0, at))) << at;
  }
}

TEST(Rollback, GoingBackToBeforeOneTakesItBack) {
  const Rollback first = back(5, id(3, 20));
  const Rollback later = back(9, id(7, 40));
  EXPECT_THAT(rollbacks_in_force({later, first}), ElementsAre(first, later))
      << "its own lineage comes from the first";
  const Rollback before = back(12, id(3, 10));
  EXPECT_THAT(rollbacks_in_force({first, later, before}), ElementsAre(before));
  EXPECT_THAT(rollbacks_in_force({first, back(6, id(3, 20))}), ElementsAre(back(6, id(3, 20))))
      << "the same place once more, before anything was saved";
}

TEST(Rollback, GivesUpWhatIsNewerThanItsPlaceAndOlderThanItself) {
  const std::vector<Rollback> standing{back(5, id(3, 20))};
  for (const auto& gone : {id(3, 21), id(4, 10), id(4, 30), id(2, 25)})
    EXPECT_TRUE(is_given_up(gone, standing)) << gone.attempt.value() << " " << gone.step.value();
  for (const auto& stays : {id(3, 20), id(3, 10), id(2, 20), id(5, 21), id(6, 90)})
    EXPECT_FALSE(is_given_up(stays, standing)) << stays.attempt.value() << " " << stays.step.value();
  const std::vector<Rollback> two{back(5, id(3, 20)), back(9, id(7, 40))};
  EXPECT_TRUE(is_given_up(id(4, 30), two)) << "the older one still holds";
  EXPECT_FALSE(is_given_up(id(6, 30), two));
}

TEST(Rollback, IsPassedOverOnceByWhatComesFromBeforeIt) {
  const std::vector<Rollback> standing{back(5, id(3, 20), 100), back(9, id(7, 40), 300)};
  EXPECT_EQ(slot_after_rollbacks(id(7, 40), 260, standing), 300u);
  EXPECT_EQ(slot_after_rollbacks(id(9, 41), 300, standing), 300u);
  EXPECT_EQ(slot_after_rollbacks(id(9, 99), 900, standing), 900u);
  EXPECT_EQ(slot_after_rollbacks(id(6, 30), 200, standing), 300u)
      << "the newer place is gone, an older one is loaded";
  EXPECT_EQ(slot_after_rollbacks(id(2, 10), 40, standing), 300u);
  EXPECT_EQ(slot_after_rollbacks(id(7, 40), 320, standing), 320u) << "never back";
  EXPECT_EQ(slot_after_rollbacks(id(9, 99), 20, standing), 20u) << "a later stage has begun its stream anew";
}

// A disk that fails to open one file.
class UnreadableDisk : public ratoon::test::ObservedDisk {
 public:
  UnreadableDisk(std::shared_ptr<Disk> disk, std::string path)
      : ObservedDisk(std::move(disk),
                     [](ratoon::test::DiskCall, const std::string&, ratoon::test::Moment) {}),
        path_(std::move(path)) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    if (path == path_) return Error(ErrorKind::kIo, "reading " + path + ": Input/output error");
    return ObservedDisk::open(path);
  }

 private:
  const std::string path_;
};

class RollbackTest : public testing::TestWithParam<bool> {
 protected:
  RollbackTest() : disk_(GetParam() ? test::store_at(folder_ / "run") : test::folder_at(folder_ / "run")) {
    for (const auto& which : {id(1, 10), id(1, 20), id(1, 30), id(2, 25)})
      test::digest_of_commit(disk_, which);
  }
  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_;
};
INSTANTIATE_TEST_SUITE_P(Places, RollbackTest, testing::Values(false, true),
                         [](const auto& place) { return place.param ? "Store" : "Folder"; });

TEST_P(RollbackTest, HoldsFromItsRecordOnWhateverLiesThere) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(1, 20), id(1, 10))) << "nothing was moved yet";
  test::digest_of_commit(disk_, id(2, 35));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(1, 20), id(1, 10))) << "a zombie's";
  const auto found = take_inventory(*disk_).value();
  EXPECT_EQ(found.newest_attempt, Attempt(3)) << "its number is used up";
  std::vector<CheckpointId> given_up;
  for (const auto& entry : found.given_up) {
    given_up.push_back(id_of(entry));
    EXPECT_EQ(entry.digest, kAbandonedDigest);
    EXPECT_FALSE(entry.is_complete);
  }
  EXPECT_THAT(given_up, ElementsAre(id(2, 35), id(2, 25), id(1, 30)));
}

TEST_P(RollbackTest, WhatItGaveUpIsSetAsideAndNeverDeleted) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  EXPECT_EQ(*set_rolled_back_aside(*disk_, rollbacks_in_force(*rollbacks_in(*disk_)), "m"), 2u);
  EXPECT_EQ(*set_rolled_back_aside(*disk_, rollbacks_in_force(*rollbacks_in(*disk_)), "m"), 0u);
  EXPECT_EQ(take_inventory(*disk_)->given_up.size(), 2u) << "whoever remembers one hears that it is none";
  for (const std::uint64_t step : {21, 22, 23}) test::digest_of_commit(disk_, id(3, step));
  ASSERT_TRUE(test::run_in(disk_).retire_old({.last = 2}, Attempt(3)));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(3, 23), id(3, 22)));
  for (const auto& which : {id(1, 30), id(2, 25)})
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / pack_path(which, Rank(0))));
}

TEST_P(RollbackTest, RetentionCountsNothingThatWasGivenUp) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  test::digest_of_commit(disk_, id(3, 21));
  ASSERT_TRUE(test::run_in(disk_).retire_old({.last = 2}, Attempt(3)));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(3, 21), id(1, 20)));
  for (const auto& which : {id(1, 30), id(2, 25)})
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / pack_path(which, Rank(0)))) << "not yet aside";
}

TEST_P(RollbackTest, TheSameRecordTwiceIsOneAndAnotherIsAConflict) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  EXPECT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "n"));
  const auto other = record_rollback(*disk_, back(3, id(1, 10)), "o");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(*rollbacks_in(*disk_), ElementsAre(back(3, id(1, 20))));
}

TEST_P(RollbackTest, ADamagedRecordIsNotPassedOver) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  ratoon::test::write_text(folder_ / "run" / rollback_path(Attempt(3)), "{}");
  const auto found = take_inventory(*disk_);
  ASSERT_FALSE(found) << "else the run would go on from what was given up";
  EXPECT_THAT(found.error().message(), HasSubstr("rollbacks/a0003.json"));
}

TEST_P(RollbackTest, NorIsOneThatCannotBeReadForNow) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  const UnreadableDisk unreadable(disk_, rollback_path(Attempt(3)));
  const auto found = take_inventory(unreadable);
  ASSERT_FALSE(found) << "else the run would go on from what was given up";
  EXPECT_EQ(found.error().kind(), ErrorKind::kIo);
}

TEST_P(RollbackTest, ARunThatBeginsAnewLeavesItsRollbacksBehind) {
  ASSERT_TRUE(record_rollback(*disk_, back(3, id(1, 20)), "m"));
  test::digest_of_commit(disk_, id(3, 21));
  EXPECT_EQ(*set_lineage_aside(*disk_, "m"), 5u);
  EXPECT_THAT(*rollbacks_in(*disk_), IsEmpty());
  EXPECT_TRUE(take_inventory(*disk_)->given_up.empty()) << "the new run is new";
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/aside/a0003.json"));
}

// No checkpoint is chosen without the record, and the sentence says how a start can go on.
TEST(RollbackInTiers, ADamagedRecordIsSaidWithTheWaysOn) {
  ratoon::test::TemporaryFolder folder;
  const auto disk = test::folder_at(folder / "run");
  test::digest_of_commit(disk, id(1, 10));
  ASSERT_TRUE(record_rollback(*disk, back(2, id(1, 10)), "m"));
  const auto path = folder / "run" / rollback_path(Attempt(2));
  const std::string good = ratoon::test::read_text(path);
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    ratoon::test::write_text(path, damaged);
    const auto found = take_inventory(*disk);
    ASSERT_FALSE(found) << at;
    EXPECT_EQ(found.error().kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(
        found.error().message(),
        testing::AllOf(HasSubstr("rollbacks/a0002.json: "),
                       HasSubstr("If another place of the run, such as a store, has an undamaged copy, "
                                 "remove this file: the next start copies the record from there."),
                       HasSubstr("If no place has a record of this rollback, the run resumes")));
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(take_inventory(*disk)) << "as the sentence says";
}

TEST(RollbackInTiers, WhatOneTierKnowsHoldsForAll) {
  ratoon::test::TemporaryFolder folder;
  const auto home = test::folder_at(folder / "home");
  const auto store = test::store_at(folder / "store");
  for (const std::uint64_t step : {10, 20, 30})
    for (const auto& disk : {std::shared_ptr<Disk>(home), std::shared_ptr<Disk>(store)})
      test::digest_of_commit(disk, id(1, step));
  const auto merged = [&] {
    return merge(
        std::vector<TierInventory>{{.tier = "volume", .shown = "home/", .found = *take_inventory(*home)},
                                   {.tier = "store", .shown = "store/", .found = *take_inventory(*store)}});
  };
  ASSERT_TRUE(record_rollback(*home, back(2, id(1, 20)), "m"));
  const auto found = merged().value();
  EXPECT_EQ(found.complete.front().id, id(1, 20)) << "the store has step 30, and no record";
  EXPECT_THAT(found.rollbacks, ElementsAre(back(2, id(1, 20))));
  ASSERT_EQ(found.given_up.size(), 1u);
  EXPECT_EQ(id_of(found.given_up.front()), id(1, 30));

  ASSERT_TRUE(record_rollback(*store, back(2, id(1, 10)), "m"));
  EXPECT_EQ(merged().error().kind(), ErrorKind::kConflict);
}

// Of two places, the place with the damaged record is named, and the sentence's advice helps.
TEST(RollbackInTiers, ADamagedRecordIsTakenFromTheOtherPlaceOnceItIsRemoved) {
  ratoon::test::TemporaryFolder folder;
  const Tiers tiers({{.kind_name = "volume", .disk = test::folder_at(folder / "home"), .store = nullptr},
                     {.kind_name = "store",
                      .disk = test::store_at(folder / "store"),
                      .store = test::store_at(folder / "store")}});
  for (const Tier& tier : tiers.all()) {
    for (const std::uint64_t step : {10, 20}) test::digest_of_commit(tier.disk, id(1, step));
    ASSERT_TRUE(record_rollback(*tier.disk, back(2, id(1, 10)), "m"));
  }
  for (const std::string place : {"home", "store"}) {
    const auto path = folder / place / rollback_path(Attempt(2));
    const std::string good = ratoon::test::read_text(path);
    ratoon::test::write_text(path, good.substr(1));
    const auto found = tiers.inventory();
    ASSERT_FALSE(found) << place;
    EXPECT_EQ(found.error().kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(found.error().message(), HasSubstr(place + "/rollbacks/a0002.json"));
    std::filesystem::remove(path);
    EXPECT_EQ(tiers.inventory()->complete.front().id, id(1, 10)) << "the other place knows of it";
    ratoon::test::write_text(path, good);
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::rollback_test
