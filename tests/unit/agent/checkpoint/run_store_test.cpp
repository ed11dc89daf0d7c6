#include "agent/src/checkpoint/commit/run_store.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::run_store_test {
namespace {

using testing::HasSubstr;

CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

class RunStoreTest : public testing::Test {
 protected:
  RunStoreTest() : store_(*RunStore::open(folder_ / "run")) {}

  InventoryEntry commit(const CheckpointId& which, std::uint32_t world_size = 1) {
    for (std::uint32_t rank = 0; rank < world_size; ++rank) EXPECT_TRUE(write(which, rank));
    const auto committed = store_.try_commit(which, world_size);
    EXPECT_TRUE(committed && *committed) << "not committed";
    return **committed;
  }
  static LoadedTensors states(const CheckpointId& which, std::uint32_t rank) {
    const std::string sum = std::to_string(which.attempt.value()) + "/" + std::to_string(which.step.value()) +
                            "/" + std::to_string(rank);
    return {{"sum", {.shape = {sum.size()}, .bytes = sum}}};
  }
  Result<void> write(const CheckpointId& which, std::uint32_t rank) {
    const LoadedTensors tensors = states(which, rank);
    const LoadedTensor& sum = tensors.at("sum");
    const TensorView view{.name = "sum", .shape = sum.shape, .bytes = std::as_bytes(std::span(sum.bytes))};
    return store_.write_pack(which, Rank(rank), std::span(&view, 1));
  }
  static ResumePoint point(const InventoryEntry& entry) {
    return {.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  std::vector<CheckpointId> complete() {
    std::vector<CheckpointId> ids;
    const auto inventory = store_.inventory();
    for (const auto& entry : inventory->complete)
      ids.push_back(id(entry.attempt.value(), entry.step.value()));
    return ids;
  }
  std::filesystem::path manifest(const CheckpointId& which) { return folder_ / "run" / manifest_path(which); }
  std::filesystem::path pack(const CheckpointId& which, std::uint32_t rank) {
    return folder_ / "run" / pack_path(which, Rank(rank));
  }
  static void damage(const std::filesystem::path& path) {
    std::string text = test::read_text(path);
    ASSERT_FALSE(text.empty()) << path;
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    test::write_text(path, text);
  }
  using Ids = std::vector<CheckpointId>;

  test::TemporaryFolder folder_;
  RunStore store_;
};

TEST_F(RunStoreTest, ACheckpointExistsOnceAllReceiptsAreThereAndItWasCommitted) {
  ASSERT_TRUE(write(id(1, 20), 0));
  EXPECT_EQ(store_.try_commit(id(1, 20), 2).value(), std::nullopt) << "the second rank's receipt is missing";
  EXPECT_EQ(store_.find(id(1, 20)).value(), std::nullopt);
  EXPECT_TRUE(complete().empty());

  ASSERT_TRUE(write(id(1, 20), 1));
  EXPECT_TRUE(complete().empty()) << "receipts are votes, not the commit";
  const auto committed = store_.try_commit(id(1, 20), 2).value();
  ASSERT_TRUE(committed.has_value());
  EXPECT_TRUE(committed->is_complete);
  EXPECT_EQ(committed->tier, "volume");
  EXPECT_EQ(store_.find(id(1, 20)).value(), committed);
  EXPECT_EQ(complete(), Ids({id(1, 20)}));
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(store_.load(point(*committed), Rank(rank)).value(), states(id(1, 20), rank));
}

TEST_F(RunStoreTest, CommittingTwiceIsTheSame) {
  const auto first = commit(id(1, 20));
  const std::string text = test::read_text(manifest(id(1, 20)));
  EXPECT_EQ(store_.try_commit(id(1, 20), 1).value(), first);
  // A vote cannot be changed either, because readers may have seen the committed one.
  const auto again = write(id(1, 20), 0);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(store_.try_commit(id(1, 20), 1).value(), first);
  EXPECT_EQ(test::read_text(manifest(id(1, 20))), text);
}

// Rank r of three saved rows 2r and 2r + 1 of six.
TEST_F(RunStoreTest, ACheckpointThatMissesAPartOfASharedTensorIsNotCommitted) {
  const std::vector<float> rows = {1, 2, 3, 4};
  const auto save = [&](const CheckpointId& which, std::uint32_t rank, std::optional<TensorBox> box) {
    const TensorView view{.name = "expert.weight",
                          .type = ElementType::kFloat32,
                          .shape = {2, 2},
                          .bytes = std::as_bytes(std::span(rows)),
                          .box = std::move(box)};
    ASSERT_TRUE(store_.write_pack(which, Rank(rank), std::span(&view, 1)));
  };
  const auto part = [](std::uint64_t row) { return TensorBox{{row, 0}, {6, 2}}; };
  for (const std::uint32_t rank : {0U, 1U, 2U}) save(id(1, 20), rank, part(rank * 2));
  EXPECT_TRUE(store_.try_commit(id(1, 20), 3).value());

  for (const std::uint32_t rank : {0U, 1U, 2U}) save(id(1, 40), rank, part(rank == 1 ? 0 : rank * 2));
  const auto missing = store_.try_commit(id(1, 40), 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(missing.error().message(), HasSubstr("element [2,0] of tensor 'expert.weight' of shape 6,2"));

  for (const std::uint32_t rank : {0U, 1U}) save(id(1, 60), rank, TensorBox{{rank * 2, 0}, {4, 2}});
  save(id(1, 60), 2, std::nullopt);
  EXPECT_THAT(store_.try_commit(id(1, 60), 3).error().message(),
              HasSubstr("tensor 'expert.weight' is not shared in "));
  EXPECT_EQ(complete(), Ids({id(1, 20)}));

  // Any number of ranks reads the saved rows.
  const auto point = RunStoreTest::point(*store_.find(id(1, 20)).value());
  std::vector<float> whole(12);
  const TensorSpec wanted{"expert.weight", ElementType::kFloat32, {6, 2}};
  const std::array into = {std::as_writable_bytes(std::span(whole))};
  auto reader = store_.read(point, Rank(7));
  ASSERT_TRUE(reader->load(std::span(&wanted, 1), into));
  EXPECT_EQ(whole, std::vector<float>({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST_F(RunStoreTest, AReceiptThatIsDamagedOrOfAnotherRankIsNoVote) {
  ASSERT_TRUE(write(id(1, 20), 0));
  ASSERT_TRUE(write(id(1, 20), 1));
  const auto receipts = folder_ / "run" / receipts_folder(id(1, 20));
  std::filesystem::copy_file(receipts / "r0000.json", receipts / "r0001.json",
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_FALSE(store_.try_commit(id(1, 20), 2));
  damage(receipts / "r0001.json");
  EXPECT_FALSE(store_.try_commit(id(1, 20), 2));
  EXPECT_TRUE(complete().empty());
  EXPECT_EQ(store_.inventory()->damaged.size(), 0u) << "no manifest was written";
}

TEST_F(RunStoreTest, AnAttemptThatCommittedNothingIsSeenToo) {
  EXPECT_EQ(store_.inventory()->newest_attempt, Attempt(0));
  commit(id(2, 20));
  ASSERT_TRUE(write(id(5, 30), 0));
  std::filesystem::create_directories(folder_ / "run" / "packs" / "a0009-of-somebody");
  EXPECT_EQ(store_.inventory()->newest_attempt, Attempt(5));
}

TEST_F(RunStoreTest, TheInventoryHasTheNewestFirst) {
  commit(id(1, 20));
  commit(id(1, 500));
  commit(id(2, 40));
  EXPECT_EQ(complete(), Ids({id(2, 40), id(1, 500), id(1, 20)}));
}

TEST_F(RunStoreTest, ADamagedManifestIsLeftOutAndCounted) {
  commit(id(1, 20));
  commit(id(2, 40));
  damage(manifest(id(2, 40)));
  commit(id(3, 60));
  std::filesystem::copy_file(manifest(id(3, 60)), manifest(id(3, 80)));  // of another checkpoint
  test::write_text(manifest(id(4, 100)), "");
  EXPECT_EQ(complete(), Ids({id(3, 60), id(1, 20)}));
  const auto damaged = store_.inventory()->damaged;
  ASSERT_EQ(damaged.size(), 3u);
  EXPECT_EQ(damaged[0].attempt, Attempt(4)) << "its number is taken";
  EXPECT_FALSE(damaged[0].is_complete);
  EXPECT_TRUE(std::filesystem::exists(manifest(id(2, 40)))) << "nothing is thrown away";
}

TEST_F(RunStoreTest, ForeignFilesAreNotCheckpointsAndAreLeftAlone) {
  const auto folder = folder_ / "run" / kManifests;
  for (const char* name : {"latest", "s20.a1.json", ".s0000000020.a0001.json.tmp-00", "notes.txt"})
    test::write_text(folder / name, "mine");
  for (const unsigned step : {20U, 40U, 60U, 80U}) commit(id(1, step));
  EXPECT_EQ(store_.inventory()->damaged.size(), 0u);
  ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(1)));
  for (const char* name : {"latest", "s20.a1.json", ".s0000000020.a0001.json.tmp-00", "notes.txt"})
    EXPECT_EQ(test::read_text(folder / name), "mine");
}

TEST_F(RunStoreTest, ADamagedPackIsAnErrorWhenItIsLoaded) {
  const auto entry = commit(id(1, 20), 2);
  std::string last_changed = test::read_text(pack(id(1, 20), 1));
  last_changed.back() ^= 1;
  test::write_text(pack(id(1, 20), 1), last_changed);
  EXPECT_TRUE(store_.load(point(entry), Rank(0)));
  const auto loaded = store_.load(point(entry), Rank(1));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(loaded.error().message(),
              HasSubstr("r0001.safetensors does not hold the bytes that were committed: tensor 'sum'"));
  EXPECT_THAT(store_.verify(id(1, 20)).error().message(), HasSubstr("the 6 bytes from 4096"));

  damage(pack(id(1, 20), 0));
  EXPECT_THAT(store_.load(point(entry), Rank(0)).error().message(),
              HasSubstr("r0000.safetensors: its header is not the one that was committed"));
  test::write_text(pack(id(1, 20), 0), test::read_text(pack(id(1, 20), 0)) + "more");
  EXPECT_EQ(store_.load(point(entry), Rank(0)).error().kind(), ErrorKind::kCorrupted);
  std::filesystem::remove(pack(id(1, 20), 0));
  const auto missing = store_.load(point(entry), Rank(0)).error();
  EXPECT_EQ(missing.kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(missing.message(), HasSubstr("r0000.safetensors does not exist, but a manifest names it"));
}

TEST_F(RunStoreTest, WhatIsSetAsideIsNotChosenAndNotForgotten) {
  commit(id(1, 10));
  commit(id(1, 20));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 20), "a bad block"));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 20), "again")) << "another process was faster";
  EXPECT_EQ(complete(), (Ids{id(1, 10)}));
  EXPECT_EQ(store_.inventory()->damaged.size(), 1u);
  const auto aside = folder_ / "run/quarantine/s0000000020.a0001.json";
  EXPECT_TRUE(decode_manifest(test::read_text(aside)));
  EXPECT_EQ(test::read_text(aside.string() + ".reason.txt"), "a bad block\n");
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 20), 0))) << "nothing of it is deleted";
}

TEST_F(RunStoreTest, WhatNobodyCommittedGoesOnceANewerAttemptHasCommitted) {
  ASSERT_TRUE(write(id(1, 10), 0));
  commit(id(1, 20));
  ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(2)));
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 10), 0))) << "attempt 2 has committed nothing yet";
  ASSERT_TRUE(write(id(3, 25), 0));
  commit(id(2, 30));
  const auto manifests = folder_ / "run/manifests";
  test::write_text(manifests / ".s0000000025.a0001.json.0123.tmp", "of a dead writer");
  test::write_text(manifests / ".s0000000025.a0003.json.0123.tmp", "of a newer attempt");
  test::write_text(manifests / ".notes.tmp", "a user's");
  ASSERT_TRUE(write(id(1, 15), 0));
  test::write_text(folder_ / "run" / packs_folder(id(1, 15)) / "notes.txt", "a user's");
  ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(2)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / packs_folder(id(1, 10))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / receipts_folder(id(1, 10))));
  EXPECT_FALSE(std::filesystem::exists(manifests / ".s0000000025.a0001.json.0123.tmp"));
  EXPECT_TRUE(std::filesystem::exists(manifests / ".s0000000025.a0003.json.0123.tmp"));
  EXPECT_TRUE(std::filesystem::exists(manifests / ".notes.tmp"));
  EXPECT_FALSE(std::filesystem::exists(pack(id(1, 15), 0)));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run" / packs_folder(id(1, 15)) / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(pack(id(3, 25), 0))) << "of a newer attempt";
  EXPECT_EQ(complete(), (Ids{id(2, 30), id(1, 20)}));
}

TEST_F(RunStoreTest, MilestonesAreKept) {
  for (const std::uint64_t step : {10, 20, 30, 40, 50}) commit(id(1, step));
  ASSERT_TRUE(store_.retire_old({.last = 1, .every_steps = 20}, Attempt(1)));
  EXPECT_EQ(complete(), (Ids{id(1, 50), id(1, 40), id(1, 20)}));
}

TEST_F(RunStoreTest, AnotherManifestThanTheChosenOneIsNotLoaded) {
  auto entry = commit(id(1, 20));
  entry.digest = "of another";
  const auto loaded = store_.load(point(entry), Rank(0));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(),
              HasSubstr("is not the chosen manifest (digest of another expected, "));
}

TEST_F(RunStoreTest, AWorldOfAnotherSizeReadsThePacksThatAreThere) {
  const auto entry = commit(id(1, 20), 2);
  EXPECT_EQ(store_.load(point(entry), Rank(2)).value(), states(id(1, 20), 0));
  EXPECT_EQ(store_.load(point(entry), Rank(5)).value(), states(id(1, 20), 1));
}

TEST_F(RunStoreTest, RetiringKeepsTheNewest) {
  for (const unsigned step : {20U, 40U, 60U, 80U}) commit(id(1, step));
  ASSERT_TRUE(store_.retire_old({.last = 4}, Attempt(1)));
  EXPECT_EQ(complete().size(), 4u);
  ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(1)));
  EXPECT_EQ(complete(), Ids({id(1, 80), id(1, 60)}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / packs_folder(id(1, 20))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / receipts_folder(id(1, 20))));
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 60), 0)));
}

TEST_F(RunStoreTest, AZombieNeverRetiresWhatNewerAttemptsWrote) {
  commit(id(1, 20));
  for (const unsigned step : {30U, 40U, 50U}) commit(id(2, step));
  ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(1)));
  EXPECT_EQ(complete(), Ids({id(2, 50), id(2, 40), id(2, 30)}));
}

TEST_F(RunStoreTest, NothingIsRetiredWhileTheNewestCannotBeRead) {
  for (const unsigned step : {20U, 40U, 60U}) commit(id(1, step));
  damage(pack(id(1, 60), 0));
  EXPECT_FALSE(store_.retire_old({.last = 2}, Attempt(1)));
  EXPECT_EQ(complete().size(), 2u) << "it is set aside, and the others stay";
  EXPECT_EQ(store_.inventory()->damaged.size(), 1u);
}

TEST_F(RunStoreTest, APlaceThatCannotBeAFolderIsAnError) {
  test::write_text(folder_ / "file", "");
  const auto store = RunStore::open(folder_ / "file" / "run");
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("creating folder "));
}

// Two jobs that save under one name: in any order, no checkpoint has packs of both.
class TwoOwners : public RunStoreTest {
 protected:
  static RunStore open(const std::filesystem::path& folder, const std::string& owner) {
    return *RunStore::open(std::shared_ptr<Disk>(*RealDisk::open_folder(folder)), "of-" + owner, owner);
  }
  Result<void> write(const RunStore& store, const CheckpointId& which, std::uint32_t rank) {
    const LoadedTensors tensors = states(which, rank);
    const LoadedTensor& sum = tensors.at("sum");
    const TensorView view{.name = "sum", .shape = sum.shape, .bytes = std::as_bytes(std::span(sum.bytes))};
    return store.write_pack(which, Rank(rank), std::span(&view, 1));
  }
  std::unique_ptr<RealDisk> disk_ = *RealDisk::open_folder(folder_ / "run");
  RunStore a_ = open(folder_ / "run", "aaaa");
  RunStore b_ = open(folder_ / "run", "bbbb");
};

TEST_F(TwoOwners, AMixtureIsNotCommitted) {
  ASSERT_TRUE(write(a_, id(1, 20), 0));
  ASSERT_TRUE(write(b_, id(1, 20), 1));
  for (const RunStore* store : {&a_, &b_, &store_}) {
    const auto committed = store->try_commit(id(1, 20), 2);
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().kind(), ErrorKind::kConflict);
    EXPECT_THAT(committed.error().message(), HasSubstr("the packs are of two jobs"));
  }
  EXPECT_TRUE(complete().empty());
}

TEST_F(TwoOwners, WhatAnotherJobWroteIsNotTakenForOnesOwn) {
  for (const std::uint32_t rank : {0U, 1U}) ASSERT_TRUE(write(a_, id(1, 20), rank));
  const auto stolen = b_.try_commit(id(1, 20), 2);
  ASSERT_FALSE(stolen);
  EXPECT_THAT(stolen.error().message(), HasSubstr("was written by another job, aaaa, and this job is bbbb"));
  EXPECT_EQ(*b_.find(id(1, 20)), std::nullopt);
  ASSERT_TRUE(*a_.try_commit(id(1, 20), 2));
  EXPECT_FALSE(b_.find(id(1, 20)));
  EXPECT_TRUE(*a_.find(id(1, 20)));
  EXPECT_TRUE(*store_.find(id(1, 20))) << "one that compares nothing";
}

TEST_F(TwoOwners, AManifestThatMixesIsNoCheckpoint) {
  ASSERT_TRUE(write(a_, id(1, 20), 0));
  ASSERT_TRUE(write(b_, id(1, 20), 1));
  const auto receipts = folder_ / "run" / receipts_folder(id(1, 20));
  Manifest mixed{.id = id(1, 20), .writer = "ratoon 0.1.0"};
  for (const char* name : {"r0000.json", "r0001.json"})
    mixed.packs.push_back(*decode_receipt(test::read_text(receipts / name)));
  test::write_text(manifest(id(1, 20)), encode_manifest(mixed));
  EXPECT_TRUE(complete().empty());
  EXPECT_EQ(store_.inventory()->damaged.size(), 1u) << "and it is not forgotten";
  EXPECT_THAT(store_.verify(id(1, 20)).error().message(), HasSubstr("packs are of two jobs"));
}

TEST_F(TwoOwners, AreFoundBehindAPackThatNamesNone) {
  const auto mixes = [](const std::vector<std::string>& owners) {
    std::vector<PackRecord> packs;
    for (const std::string& owner : owners)
      packs.push_back({.rank = Rank(static_cast<std::uint32_t>(packs.size())), .owner = owner});
    return find_two_owners(packs).has_value();
  };
  EXPECT_TRUE(mixes({"aaaa", "", "bbbb"}));
  EXPECT_TRUE(mixes({"", "aaaa", "aaaa", "bbbb"}));
  EXPECT_FALSE(mixes({"", "aaaa", "", "aaaa"}));
  EXPECT_FALSE(mixes({"", ""}));
}

TEST_F(TwoOwners, ASecondTryTakesAndClearsWhatIsOnesOwnAlone) {
  const std::string state = "state";
  const TensorView view{.name = "sum", .shape = {5}, .bytes = std::as_bytes(std::span(state))};
  RealDisk& disk = *disk_;
  const auto stage_again = [&](const std::string& owner, const CheckpointId& which) {
    const PackImageLayout plan = *lay_out_image(std::span(&view, 1), owner);
    std::vector<std::byte> image(plan.layout.file_bytes());
    const auto filling = CopyProgress::completed();
    return write_staged_pack(disk, which, Rank(0), plan.layout, image, owner, EarlierWriteTry::kBefore,
                             *filling);
  };
  ASSERT_TRUE(write(a_, id(1, 20), 0));
  EXPECT_EQ(stage_again("aaaa", id(1, 20))->record.owner, "aaaa") << "its own, taken";
  EXPECT_EQ(stage_again("bbbb", id(1, 20)).error().kind(), ErrorKind::kConflict);
  // The checkpoint has no vote for a moment.
  std::filesystem::remove(folder_ / "run" / receipt_path(id(1, 20), Rank(0)));
  EXPECT_EQ(stage_again("bbbb", id(1, 20)).error().kind(), ErrorKind::kConflict);
  EXPECT_TRUE(std::filesystem::exists(pack(id(1, 20), 0)));
  EXPECT_EQ(stage_again("aaaa", id(1, 20))->record.owner, "aaaa") << "its own, written again";
}

}  // namespace
}  // namespace ratoon::checkpoint::run_store_test
