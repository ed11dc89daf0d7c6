// The identity of a run without a coordinator: its folder has it, and a copy of the folder is another job.
#include "agent/src/session/locations/identity.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "base/core/folder_identity.h"
#include "base/core/folder_inode_hash.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::identity_test {
namespace {

class IdentityOfAFolder : public testing::Test {
 protected:
  // The identity that a start in that folder finds.
  std::string identity(const std::string& name) {
    const auto disk = checkpoint::RealDisk::open_folder(folder_ / name);
    if (!disk) return disk.error().message();
    const auto mark = [this, name] { return Result<std::uint64_t>(folder_inode_hash(folder_ / name)); };
    const auto identity = job_identity_of(options_, **disk, mark, "writer");
    return identity ? *identity : identity.error().message();
  }
  void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy(folder_ / from, folder_ / to, std::filesystem::copy_options::recursive);
  }

  test::TemporaryFolder folder_;
  Options options_;
};

TEST_F(IdentityOfAFolder, IsDrawnOnceAndStays) {
  const std::string first = identity("run");
  EXPECT_TRUE(is_identity(first)) << first;
  EXPECT_EQ(identity("run"), first);
  EXPECT_EQ(test::read_text(folder_ / "run" / checkpoint::kOwnerFile), first + "\n");
}

// A link to itself acts as a file that the file system cannot read at this moment.
TEST_F(IdentityOfAFolder, IsUnknownWhileItsFileCannotBeRead) {
  const std::string first = identity("run");
  const auto owner = folder_ / "run" / checkpoint::kOwnerFile;
  std::filesystem::rename(owner, folder_ / "kept");
  std::filesystem::create_symlink(checkpoint::kOwnerFile, owner);
  const std::string unknown = identity("run");
  EXPECT_THAT(unknown, testing::HasSubstr("owner: "));
  EXPECT_THAT(unknown, testing::HasSubstr("the identity of the run is unknown"));
  std::filesystem::rename(folder_ / "kept", owner);
  EXPECT_EQ(identity("run"), first);
}

// As after cp -a: the file is the same, and both runs may train at once.
TEST_F(IdentityOfAFolder, IsAnotherOneInACopy) {
  const std::string first = identity("run");
  copy("run", "copy");
  const std::string copied = identity("copy");
  EXPECT_TRUE(is_identity(copied)) << copied;
  EXPECT_NE(copied, first);
  EXPECT_EQ(identity("copy"), copied) << "the next start there is the same job";
  EXPECT_EQ(identity("run"), first);
}

TEST_F(IdentityOfAFolder, OfACopyOfACopyIsOfNeither) {
  const std::string first = identity("run");
  copy("run", "copy");
  const std::string copied = identity("copy");
  copy("copy", "copy of it");
  EXPECT_NE(identity("copy of it"), first);
  EXPECT_NE(identity("copy of it"), copied);
}

TEST_F(IdentityOfAFolder, StaysWithOneThatIsMoved) {
  const std::string first = identity("run");
  std::filesystem::rename(folder_ / "run", folder_ / "moved");
  EXPECT_EQ(identity("moved"), first);
}

// Ranks on several hosts may see several marks of one folder.
TEST_F(IdentityOfAFolder, IsTakenAsItIsBySeveralRanks) {
  const std::string first = identity("run");
  copy("run", "copy");
  options_.group.size = 2;
  EXPECT_EQ(identity("copy"), first);
}

}  // namespace
}  // namespace ratoon::session::identity_test
