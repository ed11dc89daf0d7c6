#include "agent/src/checkpoint/disk/real/real_disk.h"

#include <gtest/gtest.h>

namespace ratoon::checkpoint::real_disk_test {
namespace {

// Above a run's folder there may be a mount of the system, and the folder may be in a file system whose
// folders cannot be synced.
TEST(RealDisk, AFolderThatCannotBeSyncedIsNoReasonNotToTrain) {
  const auto disk = RealDisk::open_folder("/proc/self");
  ASSERT_TRUE(disk) << disk.error().message();
  const auto synced = (*disk)->sync_folder("");
  EXPECT_TRUE(synced) << synced.error().message();
}

}  // namespace
}  // namespace ratoon::checkpoint::real_disk_test
