#include "base/core/durable_folder.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/failing_calls/draw.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::durable_folder_test {
namespace {

// As automounters' maps and 9p: fsync() of a folder returns EINVAL there.
TEST(SyncFolder, WhereAFileSystemSyncsNoFoldersThereIsNothingToDo) {
  const auto synced = sync_folder("/proc");
  EXPECT_TRUE(synced) << synced.error().message();
}

TEST(SyncFolder, WhatIsNotThereIsSaid) {
  EXPECT_EQ(sync_folder("/proc/nothing").error().kind(), ErrorKind::kNotFound);
}

TEST(CreateFolders, AreMadeWhereTheSystemDoesNotSayWhichOnesThereAre) {
  const test::TemporaryFolder folder;
  const test::failing::Fault fault(test::failing::Call::kLook, ESTALE);
  const auto made = create_folders(folder.path() / "a" / "b");
  EXPECT_TRUE(made) << made.error().message();
  EXPECT_GT(fault.failed(), 0U);
}

TEST(CreateFolders, ThatCannotBeMadeAreSaid) {
  const test::TemporaryFolder folder;
  const test::failing::Fault fault(test::failing::Call::kMakeFolder, EIO);
  EXPECT_THAT(create_folders(folder.path() / "a").error().message(),
              testing::HasSubstr("Input/output error"));
}

}  // namespace
}  // namespace ratoon::durable_folder_test
