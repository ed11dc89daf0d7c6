#include "base/core/folder_inode_hash.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::folder_inode_hash_test {
namespace {

namespace fs = std::filesystem;

TEST(FolderMark, IsTheSameWhileTheFolderLives) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "run");
  const auto mark = folder_inode_hash(folder / "run");
  EXPECT_NE(mark, 0u);
  test::write_text(folder / "run" / "file", "text");
  EXPECT_EQ(folder_inode_hash(folder / "run"), mark);
  fs::create_directory_symlink("run", folder / "link");
  EXPECT_EQ(folder_inode_hash(folder / "link"), mark);
  fs::create_directory(folder / "other");
  EXPECT_NE(folder_inode_hash(folder / "other"), mark);
  EXPECT_EQ(folder_inode_hash(folder / "none"), 0u);
}

// Many file systems reuse the inode numbers of folders; the time of their creation is not reused.
TEST(FolderMark, IsAnotherOneForAFolderThatIsMadeAnew) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "run");
  const auto mark = folder_inode_hash(folder / "run");
  // File systems count in ticks of the kernel: within one tick, only the number may differ.
  for (int tries = 0; tries < 100'000 && folder_inode_hash(folder / "run") == mark; ++tries) {
    fs::remove(folder / "run");
    fs::create_directory(folder / "run");
  }
  EXPECT_NE(folder_inode_hash(folder / "run"), mark);
}

}  // namespace
}  // namespace ratoon::folder_inode_hash_test
