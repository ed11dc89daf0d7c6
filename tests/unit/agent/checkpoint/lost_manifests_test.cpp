#include "agent/src/checkpoint/commit/lost_manifests.h"

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/tiers/stores/mirror.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::lost_manifests_test {
namespace {

namespace fs = std::filesystem;

class LostManifestsTest : public testing::Test {
 protected:
  void make(const std::string& name) {
    fs::create_directories((folder_ / name).parent_path());
    test::write_text(folder_ / name, "text");
  }
  std::optional<std::string> found(const std::optional<CheckpointId>& newest_elsewhere = {}) {
    return find_link_without_manifest(*test::folder_at(folder_.path()), folder_.path(), newest_elsewhere)
        .value();
  }
  test::TemporaryFolder folder_;
};

TEST_F(LostManifestsTest, ALinkToAPackWithoutAnyManifestIsEvidence) {
  make("packs/a0001/s0000000010/r0000.safetensors");
  EXPECT_EQ(found(), std::nullopt) << "a save that was never committed";
  fs::create_symlink("somewhere/else", folder_ / "a-link");
  EXPECT_EQ(found(), std::nullopt) << "somebody's own";
  fs::create_symlink("packs/a0001/s0000000010/r0000.safetensors", folder_ / "latest-rank0");
  EXPECT_EQ(found(), "latest-rank0");
  fs::create_directories(folder_ / "manifests");
  EXPECT_EQ(found(), "latest-rank0");
  fs::remove_all(folder_ / "packs");
  EXPECT_EQ(found(), "latest-rank0") << "wherever it leads";
}

TEST_F(LostManifestsTest, AManifestAnywhereExplainsTheLink) {
  fs::create_symlink("packs/a0001/s0000000010/r0000.safetensors", folder_ / "latest-rank0");
  for (const char* name : {"manifests", "quarantine", "aside"}) {
    make(std::string(name) + "/s0000000010.a0001.json");
    EXPECT_EQ(found(), std::nullopt) << name;
    fs::remove_all(folder_ / name);
    EXPECT_EQ(found(), "latest-rank0");
  }
}

TEST_F(LostManifestsTest, PacksWithoutAnyManifestAreSeen) {
  const auto disk = test::folder_at(folder_.path());
  EXPECT_FALSE(*has_packs_and_no_manifest(*disk));
  make("packs/a0001/s0000000010/r0000.safetensors");
  EXPECT_TRUE(*has_packs_and_no_manifest(*disk));
  for (const char* name : {"manifests", "quarantine", "aside"}) {
    make(std::string(name) + "/s0000000010.a0001.json");
    EXPECT_FALSE(*has_packs_and_no_manifest(*disk)) << name;
    fs::remove_all(folder_ / name);
  }
  fs::remove_all(folder_ / "packs/a0001");
  EXPECT_FALSE(*has_packs_and_no_manifest(*disk)) << "somebody removed the packs, too";
  fs::create_directories(folder_ / "packs/a0002");
  EXPECT_FALSE(*has_packs_and_no_manifest(*disk));
}

TEST_F(LostManifestsTest, ARecordOfARollbackIsASignOfACommit) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0001/s0000000010/r0000.safetensors");
  make("rollbacks/somebodys.txt");
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk));
  make("rollbacks/a0002.json");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
}

TEST_F(LostManifestsTest, TheFilesOfOlderVersionsAreSignsOfACommit) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0001/s0000000010/r0000.safetensors");
  make("receipts/a0001/s0000000010/r0000.json");
  for (const char* sign : {"receipts/committed", "packs/committed"}) {
    EXPECT_FALSE(*has_packs_of_lost_manifests(*disk));
    make(sign);
    EXPECT_TRUE(*has_packs_of_lost_manifests(*disk)) << sign;
    fs::remove(folder_ / sign);
  }
}

// Files left by NFS, by a copy that was cut short, by a killed saver, by a person.
TEST_F(LostManifestsTest, FilesOfOtherNamesAreNoManifests) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0001/s0000000010/r0000.safetensors");
  make("packs/committed.a0001");
  fs::create_symlink("packs/a0001/s0000000010/r0000.safetensors", folder_ / "latest-rank0");
  for (const char* name :
       {"manifests/.nfs0001", "manifests/.s0000000010.a0001.json.Xy3k2p",
        "manifests/.s0000000010.a0001.json.mark.tmp", "manifests/s0000000010.a0001.jsonx", "aside/.keep",
        "quarantine/.DS_Store", "quarantine/s0000000010.a0001.json.reason.txt"}) {
    make(name);
    EXPECT_TRUE(*has_packs_of_lost_manifests(*disk)) << name;
    EXPECT_EQ(found(), "latest-rank0") << name;
    fs::remove(folder_ / name);
  }
}

TEST_F(LostManifestsTest, ManifestsOfAFormerLineageSpeakOfNoLaterAttempt) {
  const auto disk = test::folder_at(folder_.path());
  make("aside/s0000000050.a0001.json");
  make("packs/a0001/s0000000050/r0000.safetensors");
  make("packs/a0002/s0000000060/r0000.safetensors");
  make("packs/committed.a0001");
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk))
      << "the second attempt was killed before its first commit";
  make("packs/committed.a0002");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
  fs::create_symlink("packs/a0002/s0000000060/r0000.safetensors", folder_ / "latest-rank0");
  EXPECT_EQ(found(), "latest-rank0");
  make("manifests/s0000000060.a0002.json");
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk));
  EXPECT_EQ(found(), std::nullopt);
}

TEST_F(LostManifestsTest, AnotherLocationWithANewerCheckpointExplainsTheLinkAndTheNote) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0002/s0000000060/r0000.safetensors");
  make("packs/committed.a0002");
  fs::create_symlink("packs/a0002/s0000000060/r0000.safetensors", folder_ / "latest-rank0");
  for (const CheckpointId& older : {test::id(1, 60), test::id(1, 90), test::id(2, 50)})
    EXPECT_EQ(found(older), "latest-rank0");
  for (const CheckpointId& newer : {test::id(2, 60), test::id(2, 70), test::id(3, 10)})
    EXPECT_EQ(found(newer), std::nullopt);
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk, test::id(1, 90)));
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk, test::id(2, 50))) << "the note names only the attempt";
  fs::remove(folder_ / "packs/committed.a0002");
  make("rollbacks/a0002.json");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk, test::id(1, 90))) << "no file names an attempt";
}

TEST_F(LostManifestsTest, ANoteWhosePacksAreGoneMissesNothing) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0001/s0000000010/r0000.safetensors");  // its attempt was killed before its first commit
  make("packs/committed.a0002");
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk));
  make("packs/a0002/s0000000020/r0000.safetensors");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
}

TEST_F(LostManifestsTest, TheNewestNoteOfACommitIsKept) {
  const auto disk = test::folder_at(folder_.path());
  make("packs/a0009/s0000000060/r0000.safetensors");
  for (const Attempt attempt : {Attempt(1), Attempt(9), Attempt(3)}) write_commit_note(*disk, attempt);
  ASSERT_TRUE(remove_old_commit_notes(*disk));
  EXPECT_FALSE(fs::exists(folder_ / "packs/committed.a0001"));
  EXPECT_FALSE(fs::exists(folder_ / "packs/committed.a0003"));
  EXPECT_TRUE(fs::exists(folder_ / "packs/committed.a0009"));
  ASSERT_TRUE(remove_old_commit_notes(*disk));
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
}

class SignOfACommit : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Places, SignOfACommit, testing::Values(false, true),
                         [](const auto& place) { return place.param ? "Store" : "Folder"; });

TEST_P(SignOfACommit, IsLeftByTheFirstCommitAndKept) {
  const test::TemporaryFolder folder;
  const auto place = folder / "run";
  const std::shared_ptr<Disk> disk = GetParam() ? test::store_at(place) : test::folder_at(place);
  const auto store = test::run_in(disk);
  const std::string bytes = "state";
  const TensorView view{.name = "sum", .shape = {5}, .bytes = std::as_bytes(std::span(bytes))};
  for (const std::uint64_t step : {10, 20}) {
    ASSERT_TRUE(store.write_pack(test::id(1, step), Rank(0), std::span(&view, 1)));
    EXPECT_EQ(*has_packs_of_lost_manifests(*disk), false) << "a save that was never committed";
    ASSERT_TRUE(*store.try_commit(test::id(1, step), 1));
  }
  EXPECT_FALSE(*has_packs_of_lost_manifests(*disk));
  fs::remove_all(place / "manifests");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk));
  fs::remove_all(place / "receipts");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*disk)) << "a copy of the packs alone";
}

// This also holds after a power cut: a note without its manifest would say that manifests are lost.
TEST(SignOfACommitAfterAPowerCut, IsThereAsSoonAsTheCommitIsReportedAndNotBefore) {
  const auto disk = std::make_shared<ratoon::test::ModelDisk>();
  const auto store = test::run_in(disk);
  const std::string bytes = "state";
  const TensorView view{.name = "sum", .shape = {5}, .bytes = std::as_bytes(std::span(bytes))};
  ASSERT_TRUE(store.write_pack(test::id(1, 10), Rank(0), std::span(&view, 1)));
  ASSERT_TRUE(*store.try_commit(test::id(1, 10), 1));
  disk->acknowledge("committed");
  const auto judge = [](const ratoon::test::CrashState& state) -> std::optional<std::string> {
    const ratoon::test::ModelDisk left(state.image);
    const bool has_manifest = left.open(manifest_path(test::id(1, 10))).has_value();
    const bool has_note = left.open(commit_note_path(Attempt(1))).has_value();
    if (has_note && !has_manifest) return "a note without its manifest";
    if (!state.acknowledged.empty() && !has_note) return "the commit was reported, and its note is gone";
    return std::nullopt;
  };
  const auto report = ratoon::test::check_crashes({.ops = disk->log(), .chances_a_cut = 50}, judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
}

TEST(SignOfACommitInTiers, IsInAStoreThatGetsCopies) {
  const test::TemporaryFolder folder;
  const auto home = test::folder_at(folder / "home");
  const auto store = test::store_at(folder / "store");
  test::digest_of_commit(home, test::id(1, 10));
  ASSERT_TRUE(mirror_checkpoint(*home, test::id(1, 10), *store, {}));
  fs::remove_all(folder / "store/manifests");
  EXPECT_TRUE(*has_packs_of_lost_manifests(*store));
}

TEST_F(LostManifestsTest, AFolderThatIsNotThereHasLostNothing) {
  EXPECT_EQ(find_link_without_manifest(*test::folder_at(folder_ / "none"), folder_ / "none").value(),
            std::nullopt);
}

}  // namespace
}  // namespace ratoon::checkpoint::lost_manifests_test
