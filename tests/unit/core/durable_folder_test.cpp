#include "base/core/durable_folder.h"

#include <gtest/gtest.h>

namespace ratoon::durable_folder_test {
namespace {

// As automounters' maps and 9p: fsync() of a folder says EINVAL there.
TEST(SyncFolder, WhereAFileSystemSyncsNoFoldersThereIsNothingToDo) {
  const auto synced = sync_folder("/proc");
  EXPECT_TRUE(synced) << synced.error().message();
}

TEST(SyncFolder, WhatIsNotThereIsSaid) {
  EXPECT_EQ(sync_folder("/proc/nothing").error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace ratoon::durable_folder_test
