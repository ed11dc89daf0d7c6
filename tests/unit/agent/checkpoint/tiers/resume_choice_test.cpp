#include "agent/src/checkpoint/tiers/resume_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::checkpoint::resume_choice_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Kind = StartChoice::Kind;

CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}
InventoryEntry good(std::uint64_t attempt, std::uint64_t step, const std::string& digest = "d") {
  return entry_of(id(attempt, step), digest + std::to_string(attempt) + "/" + std::to_string(step), true);
}
InventoryEntry bad(std::uint64_t attempt, std::uint64_t step) {
  return entry_of(id(attempt, step), "damaged", false);
}
TierInventory tier(const std::string& word, std::vector<InventoryEntry> complete,
                   std::vector<InventoryEntry> damaged = {}, std::uint64_t newest_attempt = 0) {
  return {.tier = word,
          .shown = word + "/",
          .found = {.newest_attempt = Attempt(newest_attempt),
                    .complete = std::move(complete),
                    .damaged = std::move(damaged)}};
}
StartChoice start_of(const std::vector<TierInventory>& tiers, const StartRequest& requests = {}) {
  return choose_start(*merge(tiers), requests, [](const auto&) { return true; }).value();
}

TEST(ResumeChoice, TheNewestWinsWhereverItIs) {
  const auto old_node = tier("local", {good(1, 500), good(1, 400)});
  const auto store = tier("store", {good(2, 450), good(1, 500)});
  const StartChoice start = start_of({old_node, store});
  EXPECT_EQ(start.kind, Kind::kResume);
  EXPECT_EQ(start.checkpoint->id, id(2, 450)) << "a newer attempt is the lineage that went on";
  EXPECT_THAT(start.checkpoint->tiers, ElementsAre(1));
}

TEST(ResumeChoice, AmongCopiesTheOrderOfTheTiersCounts) {
  const auto start = start_of({tier("volume", {good(1, 10)}), tier("store", {good(1, 20)}),
                               tier("store", {good(1, 20), good(1, 10)})});
  EXPECT_EQ(start.checkpoint->id, id(1, 20));
  EXPECT_THAT(start.checkpoint->tiers, ElementsAre(1, 2));
}

TEST(ResumeChoice, WhatIsBadInOneTierIsTakenFromAnother) {
  const std::vector<TierInventory> tiers = {tier("volume", {good(1, 10)}, {bad(1, 20)}),
                                            tier("store", {good(1, 20)})};
  EXPECT_EQ(start_of(tiers).checkpoint->id, id(1, 20));
  EXPECT_TRUE(merge(tiers)->damaged.empty());
}

TEST(ResumeChoice, WhatCannotBeUsedIsPassedOver) {
  const auto found = merge(std::vector{tier("volume", {good(1, 20), good(1, 10)})});
  const auto start =
      choose_start(*found, {}, [](const TieredCheckpoint& one) { return one.id != id(1, 20); });
  EXPECT_EQ(start->checkpoint->id, id(1, 10));
  const auto none = choose_start(*found, {.has_load_path = true}, [](const auto&) { return false; });
  EXPECT_EQ(none->kind, Kind::kNoneIsGood) << "weights of another run are no way out";
}

TEST(ResumeChoice, NothingEverSavedAndNothingGoodAreDifferent) {
  EXPECT_EQ(start_of({tier("volume", {}), tier("store", {})}).kind, Kind::kFromNothing);
  EXPECT_EQ(start_of({tier("volume", {}), tier("store", {}, {bad(1, 10)})}).kind, Kind::kNoneIsGood);
}

TEST(ResumeChoice, ALoadPathCountsOnlyWhereNothingOfThisRunIs) {
  const StartRequest requests{.has_load_path = true};
  EXPECT_EQ(start_of({tier("volume", {})}, requests).kind, Kind::kFromLoadPath);
  EXPECT_EQ(start_of({tier("volume", {}), tier("store", {good(1, 10)})}, requests).kind, Kind::kResume);
  EXPECT_EQ(start_of({tier("volume", {}, {bad(1, 10)})}, requests).kind, Kind::kNoneIsGood);
}

TEST(ResumeChoice, BeginningAnewWhereCheckpointsStandNeedsLeave) {
  const auto found = merge(std::vector{tier("volume", {good(2, 700)}, {bad(1, 10)})});
  const auto is_usable = [](const auto&) { return true; };
  const auto refused = choose_start(*found, {.resumes = false}, is_usable);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(
      refused.error().message(),
      "the run has checkpoints up to step 700 of attempt 2, but must not resume from them (--autoresume "
      "false): set --autoresume=true to resume from them, --overwrite=true to set them aside and begin anew "
      "(none is deleted), or another --run-name to begin a new run");
  const auto of_many = choose_start(*found, {.resumes = false, .can_overwrite = false}, is_usable);
  EXPECT_THAT(of_many.error().message(), Not(HasSubstr("--overwrite")));

  const StartChoice anew = *choose_start(*found, {.resumes = false, .overwrites = true}, is_usable);
  EXPECT_EQ(anew, (StartChoice{.kind = Kind::kFromNothing, .sets_old_checkpoints_aside = true}));
  const auto only_bad = merge(std::vector{tier("volume", {}, {bad(1, 10)})});
  EXPECT_FALSE(choose_start(*only_bad, {.resumes = false}, is_usable)) << "what is damaged is not nothing";
  EXPECT_FALSE(
      start_of({tier("volume", {})}, {.resumes = false, .overwrites = true}).sets_old_checkpoints_aside);
}

TEST(ResumeChoice, TwoRunsUnderOneNameAreNotMixed) {
  const auto merged =
      merge(std::vector{tier("volume", {good(1, 10)}), tier("store", {good(1, 10, "other")})});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(merged.error().message(),
              HasSubstr("volume/ and store/ hold different checkpoints of step 10"));
}

TEST(ResumeChoice, TheNextAttemptIsNewerThanWhatAnyTierHas) {
  EXPECT_EQ(merge(std::vector{tier("local", {}, {}, 3), tier("store", {}, {}, 7)})->newest_attempt,
            Attempt(7));
}

TEST(ResumeChoice, AJoinerSaysOfEachCheckpointWhatAllCanReach) {
  const std::vector<TierInventory> tiers = {tier("local", {good(1, 20), good(1, 10)}, {bad(1, 5)}),
                                            tier("store", {good(1, 10)})};
  const auto entries = entries_of(*merge(tiers), tiers);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].tier, "local");
  EXPECT_EQ(entries[1].tier, "store") << "others can load it, too";
  EXPECT_EQ(entries[2].tier, "local");
  EXPECT_FALSE(entries[2].is_complete);
}

}  // namespace
}  // namespace ratoon::checkpoint::resume_choice_test
