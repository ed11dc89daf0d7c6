#include "cli/checkpoint/survey.h"

#include <fstream>

#include <gmock/gmock.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "cli/checkpoint/verify.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::survey_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SurveyTest : public RunFixture {
 protected:
  std::vector<std::string> states() {
    std::vector<std::string> found;
    for (const auto& one : survey().checkpoints)
      found.push_back(checkpoint_text(one.id) + ": " + std::string(name_of(one.standing)));
    return found;
  }
  VerifyResult verify(const CheckpointSelection& selection) {
    const Survey now = survey();
    return verify_checkpoint(*disk_, **choose_checkpoint(now, selection),
                             [&](std::uint64_t bytes) { verified_bytes_ += bytes; });
  }
  std::uint64_t verified_bytes_ = 0;
};

TEST_F(SurveyTest, NewestFirstWithWhatIsBadAndWhatWasNeverCommitted) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  commit_plain(id(2, 15));
  write_rank(id(2, 25), 1, {whole(tensor("w", {10}))});
  flip(run_ / checkpoint::manifest_path(id(1, 20)), 30);
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));

  EXPECT_THAT(states(), ElementsAre("step 15 of attempt 2: complete", "step 20 of attempt 1: damaged",
                                    "step 10 of attempt 1: set aside"));
  const Survey now = survey();
  EXPECT_EQ(now.checkpoints[0].size_bytes, now.checkpoints[2].size_bytes)
      << "a set-aside one takes room, too";
  EXPECT_EQ(now.checkpoints[0].manifest->packs.size(), 2u);
  EXPECT_THAT(now.checkpoints[1].why, HasSubstr("checksum line"));
  EXPECT_EQ(now.checkpoints[2].why, "a flipped bit");
  ASSERT_EQ(now.uncommitted.size(), 1u);
  EXPECT_EQ(now.uncommitted[0].id, id(2, 25));
  EXPECT_EQ(now.uncommitted[0].packs, 1u);
  EXPECT_GT(now.uncommitted[0].size_bytes, 40u);
}

// The lists of the newest complete checkpoint count, without checkpoints that do not exist.
TEST(SurveyBestTest, AreThoseOfTheNewestCheckpointThatExist) {
  const auto found = [](const checkpoint::CheckpointId& which, std::vector<checkpoint::BestCheckpoint> kept) {
    FoundCheckpoint one{.id = which, .manifest = checkpoint::Manifest{.id = which}};
    one.manifest->run.emplace().best.push_back({.name = "error", .keep = 2, .kept = std::move(kept)});
    return one;
  };
  Survey survey;
  EXPECT_TRUE(find_kept_best(survey).empty());
  survey.checkpoints = {
      {.id = id(2, 50), .standing = CheckpointState::kDamaged},
      found(id(2, 40), {{id(1, 35), 0}, {id(1, 10), 0.25}, {id(2, 40), 0.5}, {id(1, 20), 3}}),
      found(id(1, 20), {{id(1, 20), 3}}),
      found(id(1, 10), {{id(1, 10), 0.25}})};
  EXPECT_THAT(find_kept_best(survey),
              ElementsAre(checkpoint::KeptBest{.name = "error", .checkpoint = {id(1, 10), 0.25}},
                          checkpoint::KeptBest{.name = "error", .checkpoint = {id(2, 40), 0.5}}));
  EXPECT_THAT(checkpoint::describe_kept_best(find_kept_best(survey)),
              ElementsAre("error: 0.25 at step 10, 0.5 at step 40"));
}

TEST_F(SurveyTest, TheNewestThatMatchesTheSelectionIsChosen) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  commit_plain(id(2, 10));
  const Survey now = survey();
  EXPECT_EQ((*choose_checkpoint(now, {}))->id, id(2, 10));
  EXPECT_EQ((*choose_checkpoint(now, {.step = 10}))->id, id(2, 10));
  EXPECT_EQ((*choose_checkpoint(now, {.step = 10, .attempt = 1}))->id, id(1, 10));
  EXPECT_EQ((*choose_checkpoint(now, {.attempt = 1}))->id, id(1, 20));
  const auto none = choose_checkpoint(now, {.step = 11});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(none.error().message(), HasSubstr("there are: step 10 of attempt 2, step 20 of attempt 1"));
}

TEST_F(SurveyTest, NothingAndOnlyBadOnesAreToldApart) {
  EXPECT_EQ(choose_checkpoint(survey(), {}).error().kind(), ErrorKind::kNotFound);
  commit_plain(id(1, 10));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  const auto chosen = choose_checkpoint(survey(), {});
  EXPECT_EQ(chosen.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(chosen.error().message(), HasSubstr("set aside: a flipped bit"));
}

TEST_F(SurveyTest, EveryByteIsVerified) {
  commit_plain(id(1, 10), 100'000);
  EXPECT_EQ(verify({}).verdict, VerifyOutcome::kGood);
  EXPECT_EQ(verified_bytes_, survey().checkpoints[0].size_bytes);
  for (const std::size_t from_end : {0u, 50'000u, 99'999u, 100'100u}) {
    flip(pack(id(1, 10), 1), from_end);
    const VerifyResult bad = verify({});
    EXPECT_EQ(bad.verdict, VerifyOutcome::kBad) << from_end;
    EXPECT_THAT(bad.why, HasSubstr("r0001.safetensors"));
    flip(pack(id(1, 10), 1), from_end);
  }
  const Survey before = survey();
  std::filesystem::remove(pack(id(1, 10), 0));
  const VerifyResult bad = verify_checkpoint(*disk_, before.checkpoints[0], [](std::uint64_t) {});
  EXPECT_EQ(bad.verdict, VerifyOutcome::kBad);
  EXPECT_THAT(bad.why, HasSubstr("does not exist, but a manifest names it"));
}

TEST_F(SurveyTest, AManifestOfPacksOfTwoJobsIsBadAndSaysWhoseTheyAre) {
  const auto w = tensor("w", {10});
  write_rank(id(1, 10), 0, {whole(w)});
  write_rank(id(1, 10), 1, {whole(w)});
  checkpoint::Manifest mixed{.id = id(1, 10), .writer = "another writer", .packs = {}};
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto receipt = test::read_text(run_ / checkpoint::receipt_path(id(1, 10), Rank(rank)));
    mixed.packs.push_back(checkpoint::decode_receipt(receipt).value());
    mixed.packs.back().owner = rank == 0 ? "6f1c" : "77aa";
  }
  test::write_text(run_ / checkpoint::manifest_path(id(1, 10)), checkpoint::encode_manifest(mixed));
  const VerifyResult bad = verify_checkpoint(*disk_, survey().checkpoints.at(0), [](std::uint64_t) {});
  EXPECT_EQ(bad.verdict, VerifyOutcome::kBad);
  EXPECT_THAT(bad.why,
              testing::HasSubstr("the pack of rank 0 was written by 6f1c and that of rank 1 by 77aa"));
}

TEST_F(SurveyTest, AManifestWithoutAPackIsDamagedAndSaysWhichIsGone) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  std::filesystem::remove(pack(id(1, 20), 1));
  EXPECT_THAT(states(), ElementsAre("step 20 of attempt 1: damaged", "step 10 of attempt 1: complete"));
  const Survey now = survey();
  EXPECT_THAT(now.checkpoints[0].why, HasSubstr("r0001.safetensors does not exist, but a manifest names it"));
  EXPECT_EQ(now.checkpoints[0].size_bytes, now.checkpoints[1].size_bytes / 2) << "what lies there";
  EXPECT_EQ((*choose_checkpoint(now, {}))->id, id(1, 10));
  EXPECT_EQ(choose_checkpoint(now, {.step = 20}).error().kind(), ErrorKind::kCorrupted);
}

TEST_F(SurveyTest, WhatIsSetAsideAtThisMomentIsNotTakenForUncommitted) {
  commit_plain(id(1, 10));
  commit_plain(id(2, 20));
  bool is_aside = false;
  const test::ObservedDisk disk(*open_run_folder(run_), [&](test::DiskCall call, const std::string& path,
                                                            test::Moment moment) {
    // The inventory lists it last.
    if (call != test::DiskCall::kList || path != checkpoint::kQuarantine || moment != test::Moment::kAfter)
      return;
    is_aside = true;
    ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  });
  const auto now = take_survey(disk);
  ASSERT_TRUE(now);
  EXPECT_TRUE(is_aside);
  EXPECT_EQ(now->checkpoints.size(), 1u);
  EXPECT_THAT(now->uncommitted, testing::IsEmpty());
}

// The checkpoint is listed in both places, and gone from the first of them when it is read.
TEST_F(SurveyTest, WhatIsSetAsideBetweenTwoListsIsShownOnce) {
  commit_plain(id(1, 10));
  commit_plain(id(2, 20));
  const test::ObservedDisk disk(*open_run_folder(run_), [&](test::DiskCall call, const std::string& path,
                                                            test::Moment moment) {
    if (call != test::DiskCall::kList || path != checkpoint::kQuarantine || moment != test::Moment::kBefore)
      return;
    ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  });
  const auto now = take_survey(disk);
  ASSERT_TRUE(now);
  ASSERT_EQ(now->checkpoints.size(), 2u);
  EXPECT_EQ(now->checkpoints[1].standing, CheckpointState::kSetAside);
  EXPECT_EQ(now->checkpoints[1].why, "a flipped bit");
  EXPECT_THAT(now->uncommitted, testing::IsEmpty());
}

TEST_F(SurveyTest, WhatARollbackGaveUpIsNoCheckpointAndNothingToCleanUp) {
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  ASSERT_TRUE(checkpoint::record_rollback(*disk_, {.attempt = Attempt(2), .to = id(1, 20)}, "mark"));
  EXPECT_THAT(states(), ElementsAre("step 20 of attempt 1: complete", "step 10 of attempt 1: complete"));
  EXPECT_THAT(survey().uncommitted, testing::IsEmpty()) << "its manifest is not in aside/ yet";
}

TEST_F(SurveyTest, WhatItsRunRetiresMeanwhileIsNotBad) {
  commit_plain(id(1, 10));
  const Survey before = survey();
  ASSERT_TRUE(checkpoint::remove_checkpoint(*disk_, id(1, 10)));
  EXPECT_EQ(verify_checkpoint(*disk_, before.checkpoints[0], [](std::uint64_t) {}).verdict,
            VerifyOutcome::kRetired);
}

// In a folder an open file stays readable; in a store it is gone.
TEST_F(SurveyTest, WhatItsRunRetiresWhileItIsReadIsNotBad) {
  commit_plain(id(1, 10));
  const auto store = as_store();
  const Survey before = take_survey(*store).value();
  std::size_t pieces = 0;
  const auto retire = [&](std::uint64_t) {
    ++pieces;
    ASSERT_TRUE(checkpoint::remove_checkpoint(*disk_, id(1, 10)));
  };
  EXPECT_EQ(verify_checkpoint(*store, before.checkpoints[0], retire).verdict, VerifyOutcome::kRetired);
  EXPECT_EQ(pieces, 1u);
}

TEST_F(SurveyTest, APackThatIsTakenAwayWhileItIsReadIsBad) {
  commit_plain(id(1, 10));
  const auto store = as_store();
  const Survey before = take_survey(*store).value();
  const auto take = [&](std::uint64_t) { std::filesystem::remove(pack(id(1, 10), 0)); };
  EXPECT_EQ(verify_checkpoint(*store, before.checkpoints[0], take).verdict, VerifyOutcome::kBad);
}

TEST(ExitCode, SaysWhatAScriptNeedsToKnow) {
  using enum VerifyOutcome;
  const struct {
    std::vector<VerifyOutcome> verdicts;
    int code;
  } cases[] = {{{kGood, kGood}, 0}, {{kGood, kSetAside}, 0},   {{kGood, kRetired}, 0},
               {{kGood, kBad}, 1},  {{kUnreadable, kGood}, 1}, {{kBad, kSetAside}, 83},
               {{kSetAside}, 83},   {{kBad, kUnreadable}, 84}, {{}, 82},
               {{kRetired}, 82}};
  for (const auto& c : cases) {
    std::vector<VerifyResult> verified;
    for (const VerifyOutcome verdict : c.verdicts) verified.push_back({.verdict = verdict});
    EXPECT_EQ(exit_code_of(verified), c.code);
  }
}

// Then there are newer ones, and `verify` reads those.
TEST(AreAllRetired, IsFalseIfOneStayedOrThereWasNone) {
  const auto of = [](std::vector<VerifyOutcome> verdicts) {
    std::vector<VerifyResult> verified;
    for (const VerifyOutcome verdict : verdicts) verified.push_back({.verdict = verdict});
    return are_all_retired(verified);
  };
  using enum VerifyOutcome;
  EXPECT_TRUE(of({kRetired}));
  EXPECT_TRUE(of({kRetired, kRetired}));
  EXPECT_FALSE(of({kRetired, kGood}));
  EXPECT_FALSE(of({kBad, kRetired}));
  EXPECT_FALSE(of({}));
}

TEST(RunFolder, ACopyOfIsLookedAtItself) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(checkpoint::RunStore::open(folder / "run/checkpoints/counter"));
  std::ofstream(folder / "run/status.json") << R"({"saves": "checkpoints/counter"})";
  std::filesystem::copy(folder / "run", folder / "copy", std::filesystem::copy_options::recursive);
  EXPECT_EQ(save_location_of_run(folder / "copy"), folder / "copy/checkpoints/counter");
  EXPECT_EQ(checkpoint_folder_of_run(folder / "copy"), folder / "copy/checkpoints/counter");
  for (const std::string elsewhere : {"/data/runs/counter", "s3://bucket/counter"}) {
    std::ofstream(folder / "copy/status.json") << R"({"saves": ")" << elsewhere << "\"}";
    EXPECT_EQ(save_location_of_run(folder / "copy"), elsewhere);
  }
}

TEST(RunFolder, TheErrorNamesTheRunFoldersBelow) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(checkpoint::RunStore::open(folder / "checkpoints/counter"));
  const auto refused = open_run_folder(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused.error()), 82);
  EXPECT_THAT(refused.error().message(),
              testing::EndsWith("such as " + (folder / "checkpoints/counter").string()));
  EXPECT_EQ(checkpoint_folder_of_run(folder.path()), folder.path()) << "no folder of `ratoon run`";
  std::ofstream(folder / "status.json") << "{}";
  EXPECT_EQ(checkpoint_folder_of_run(folder.path()), folder / "checkpoints/counter");
  EXPECT_EQ(checkpoint_folder_of_run(folder / "checkpoints/counter"), folder / "checkpoints/counter");
  ASSERT_TRUE(checkpoint::RunStore::open(folder / "checkpoints/before"));
  EXPECT_EQ(checkpoint_folder_of_run(folder.path()), folder.path())
      << "which of the two, only a person knows";
  std::ofstream(folder / "status.json") << R"({"saves": "checkpoints/before"})";
  EXPECT_EQ(checkpoint_folder_of_run(folder.path()), folder / "checkpoints/before");
  const auto missing = open_run_folder(folder / "missing");
  ASSERT_FALSE(missing);
  EXPECT_FALSE(std::filesystem::exists(folder / "missing")) << "looking makes nothing";
}

}  // namespace
}  // namespace ratoon::cli::survey_test
