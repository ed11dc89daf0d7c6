#include "agent/src/checkpoint/disk/real/file_system_kind.h"

#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::file_system_kind_test {
namespace {

// The numbers are those of the kernel's sources and of the file systems' own.
TEST(FileSystemKind, IsLocalWhereNoOtherMachineReachesTheFiles) {
  const std::map<std::string, std::int64_t> local = {
      {"ext4", 0xef53},         {"xfs", 0x58465342},     {"btrfs", 0x9123683e}, {"tmpfs", 0x01021994},
      {"ramfs", 0x858458f6},    {"overlay", 0x794c7630}, {"f2fs", 0xf2f52010},  {"reiserfs", 0x52654973},
      {"bcachefs", 0xca451a4e}, {"zfs", 0x2fc12fc1},     {"jfs", 0x3153464a},
  };
  for (const auto& [name, kind] : local) EXPECT_TRUE(is_local_kind(kind)) << name;
}

TEST(FileSystemKind, IsOfANetworkOrUnknownElse) {
  const std::map<std::string, std::int64_t> others = {
      {"nfs", 0x6969},      {"smb", 0x517b},        {"cifs", 0xff534d42},   {"smb2", 0xfe534d42},
      {"9p", 0x01021997},   {"ceph", 0x00c36400},   {"lustre", 0x0bd00bd0}, {"gpfs", 0x47504653},
      {"fuse", 0x65735546}, {"beegfs", 0x19830326}, {"ocfs2", 0x7461636f},  {"gfs2", 0x01161970},
      {"afs", 0x5346414f},  {"unknown", 0},
  };
  for (const auto& [name, kind] : others) EXPECT_FALSE(is_local_kind(kind)) << name;
}

TEST(FileSystemKind, OfAFolderThatDoesNotExistYetIsThatOfTheFolderAbove) {
  const test::TemporaryFolder folder;
  const auto above = is_local(folder.path());
  const auto missing = is_local(folder.path() / "to" / "be" / "made");
  ASSERT_TRUE(above && missing);
  EXPECT_EQ(*above, *missing);
  const auto of_kernel = is_local("/proc/self");
  ASSERT_TRUE(of_kernel);
  EXPECT_FALSE(*of_kernel);
}

}  // namespace
}  // namespace ratoon::checkpoint::file_system_kind_test
