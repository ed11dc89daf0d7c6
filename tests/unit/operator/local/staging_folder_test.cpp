#include "operator/local/folder/staging_folder.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::local::staging_folder_test {
namespace {

namespace fs = std::filesystem;

class StagingFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(memory());
    fs::create_directories(run());
  }
  fs::path memory() const { return root_.path() / "memory"; }
  fs::path run() const { return root_.path() / "run"; }

  test::TemporaryFolder root_;
};

TEST_F(StagingFolderTest, IsTheSameForEachRunInOneFolderAndAnothersInAnother) {
  fs::path first;
  {
    const auto staging = StagingFolder::open(memory(), run());
    ASSERT_TRUE(staging) << staging.error().message();
    first = staging->path();
    EXPECT_EQ(first.parent_path(), memory());
    struct stat info{};
    ASSERT_EQ(::stat(first.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    std::ofstream(first / "slot") << "staged";
  }
  EXPECT_TRUE(fs::exists(first / "slot")) << "what was staged is for the next run";
  {
    const auto again = StagingFolder::open(memory(), run() / "." / "../run");
    EXPECT_EQ(again->path(), first);
    fs::remove(first / "slot");
  }
  EXPECT_FALSE(fs::exists(first)) << "nothing is staged: nothing stays";
  EXPECT_NE(StagingFolder::open(memory(), root_.path() / "other")->path(), first);
}

TEST_F(StagingFolderTest, WhatIsOfARunThatIsNotGoneOnWithIsDiscardedAndNothingElse) {
  const auto others = StagingFolder::open(memory(), root_.path() / "other");
  std::ofstream(others->path() / "slot") << "another run's";
  const auto staging = StagingFolder::open(memory(), run());
  std::ofstream(staging->path() / "slot") << "staged";
  fs::create_directory_symlink(others->path(), staging->path() / "link");
  ASSERT_TRUE(StagingFolder::discard(memory(), run()));
  EXPECT_FALSE(fs::exists(staging->path()));
  EXPECT_TRUE(fs::exists(others->path() / "slot"));
  EXPECT_TRUE(StagingFolder::discard(memory(), run())) << "there is none";

  fs::create_directory_symlink(others->path(), staging->path());
  EXPECT_TRUE(StagingFolder::discard(memory(), run()));
  EXPECT_TRUE(fs::exists(others->path() / "slot"))
      << "a link that somebody put there leads to no memory of ours";
}

TEST_F(StagingFolderTest, IsNowhereWhereThereIsNoMemory) {
  EXPECT_FALSE(StagingFolder::open(root_.path() / "no-such-place", run()));
  EXPECT_TRUE(fs::is_empty(run())) << "a disk is no memory";
}

TEST_F(StagingFolderTest, IsNotTakenFromSomebodyWhoWasThereFirst) {
  const fs::path wanted = StagingFolder::open(memory(), run())->path();
  ASSERT_FALSE(fs::exists(wanted));
  fs::create_directory_symlink(root_.path(), wanted);
  EXPECT_EQ(StagingFolder::open(memory(), run()).error().kind(), ErrorKind::kPermissionDenied);
  fs::remove(wanted);
  fs::create_directory(wanted);
  fs::permissions(wanted, fs::perms::all);
  EXPECT_EQ(StagingFolder::open(memory(), run()).error().kind(), ErrorKind::kPermissionDenied);
}

}  // namespace
}  // namespace ratoon::local::staging_folder_test
