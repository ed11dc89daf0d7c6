#include "agent/src/checkpoint/disk/real/real_disk.h"

#include <gtest/gtest.h>

namespace ratoon::checkpoint::real_disk_test {
namespace {

// Above a run's folder may be what a system mounts by itself, and it may lie in a file system of which no
// folder can be synced.
TEST(RealDisk, AFolderThatCannotBeSyncedIsNoReasonNotToTrain) {
  const auto disk = RealDisk::open_folder("/proc/self");
  ASSERT_TRUE(disk) << disk.error().message();
  const auto synced = (*disk)->sync_folder("");
  EXPECT_TRUE(synced) << synced.error().message();
}

}  // namespace
}  // namespace ratoon::checkpoint::real_disk_test
