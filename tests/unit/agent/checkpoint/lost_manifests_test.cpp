#include "agent/src/checkpoint/lost_manifests.h"

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/folder_mark.h"
#include "agent/src/checkpoint/run_store.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::lost_manifests_test {
namespace {

namespace fs = std::filesystem;

class LostManifestsTest : public testing::Test {
 protected:
  void make(const std::string& name) {
    fs::create_directories((folder_ / name).parent_path());
    test::write_text(folder_ / name, "text");
  }
  std::optional<std::string> found() { return link_without_manifests(folder_.path()); }
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

TEST_F(LostManifestsTest, PacksOfACommitWithoutAnyManifestAreEvidence) {
  make("packs/a0001/s0000000010/r0000.safetensors");
  EXPECT_FALSE(has_packs_without_manifests(folder_.path())) << "a save that was never committed";
  make("receipts/committed");
  EXPECT_TRUE(has_packs_without_manifests(folder_.path()));
  for (const char* name : {"manifests", "quarantine", "aside"}) {
    make(std::string(name) + "/s0000000010.a0001.json");
    EXPECT_FALSE(has_packs_without_manifests(folder_.path())) << name;
    fs::remove_all(folder_ / name);
  }
  fs::remove_all(folder_ / "packs/a0001");
  EXPECT_FALSE(has_packs_without_manifests(folder_.path())) << "somebody removed the packs, too";
  fs::create_directories(folder_ / "packs/a0002");
  EXPECT_FALSE(has_packs_without_manifests(folder_.path()));
}

TEST_F(LostManifestsTest, TheFirstCommitLeavesIt) {
  const auto store = *RunStore::open(folder_ / "run");
  const std::string bytes = "state";
  const TensorView view{.name = "sum", .shape = {5}, .bytes = std::as_bytes(std::span(bytes))};
  const CheckpointId id{.attempt = Attempt(1), .step = Step(10)};
  ASSERT_TRUE(store.write_pack(id, Rank(0), std::span(&view, 1)));
  fs::remove_all(folder_ / "run/manifests");
  EXPECT_FALSE(has_packs_without_manifests(folder_ / "run"));
  ASSERT_TRUE(RunStore::open(folder_ / "run"));
  ASSERT_TRUE(*store.try_commit(id, 1));
  EXPECT_FALSE(has_packs_without_manifests(folder_ / "run"));
  fs::remove_all(folder_ / "run/manifests");
  EXPECT_TRUE(has_packs_without_manifests(folder_ / "run"));
}

TEST_F(LostManifestsTest, AFolderThatIsNotThereHasLostNothing) {
  EXPECT_EQ(link_without_manifests(folder_ / "none"), std::nullopt);
}

TEST(FolderMark, IsTheSameWhileTheFolderLives) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "run");
  const auto mark = folder_mark(folder / "run");
  EXPECT_NE(mark, 0u);
  test::write_text(folder / "run" / "file", "text");
  EXPECT_EQ(folder_mark(folder / "run"), mark);
  fs::create_directory_symlink("run", folder / "link");
  EXPECT_EQ(folder_mark(folder / "link"), mark);
  fs::create_directory(folder / "other");
  EXPECT_NE(folder_mark(folder / "other"), mark);
  EXPECT_EQ(folder_mark(folder / "none"), 0u);
}

// Numbers of folders are given again at once by many a file system; the moment of their birth is not.
TEST(FolderMark, IsAnotherOneForAFolderThatIsMadeAnew) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "run");
  const auto mark = folder_mark(folder / "run");
  // File systems count in ticks of the kernel: within one, the number may be all there is.
  for (int tries = 0; tries < 100'000 && folder_mark(folder / "run") == mark; ++tries) {
    fs::remove(folder / "run");
    fs::create_directory(folder / "run");
  }
  EXPECT_NE(folder_mark(folder / "run"), mark);
}

}  // namespace
}  // namespace ratoon::checkpoint::lost_manifests_test
