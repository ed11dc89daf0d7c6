// Whose claim it is, as attempts of one job have another rank 0.
#include "agent/src/session/ownership.h"

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::ownership_test {
namespace {

class OwnershipTest : public testing::Test {
 protected:
  std::unique_ptr<Ownership> process(const std::string& start) {
    return std::make_unique<Ownership>(std::vector<std::shared_ptr<checkpoint::Disk>>{disk_},
                                       checkpoint::Owner{.job = "team/digits of 1", .start = start},
                                       std::make_shared<EventLog>());
  }
  void take(Ownership& process) {
    const auto taken = process.take(clock_, [](Duration) { return true; });
    EXPECT_TRUE(taken) << taken.error().message();
  }
  std::string owner() { return checkpoint::newest_claim(*disk_).value()->owner.start; }

  test::TemporaryFolder folder_;
  SystemClock clock_;
  std::shared_ptr<checkpoint::Disk> disk_ = checkpoint::RealDisk::open_folder(folder_.path()).value();
};

// The attempt between the two was none of the first process: nothing told it to leave the places to others.
TEST_F(OwnershipTest, WhoIsRank0AgainOwnsThePlacesAgain) {
  const auto a = process("a");
  const auto b = process("b");
  take(*a);
  take(*b);
  EXPECT_EQ(owner(), "b");
  take(*a);
  EXPECT_EQ(owner(), "a");
  EXPECT_FALSE(a->lost());
}

TEST_F(OwnershipTest, WhoIsRank0StillRenewsItsClaim) {
  const auto a = process("a");
  take(*a);
  const auto before = checkpoint::newest_claim(*disk_).value()->number;
  take(*a);
  EXPECT_EQ(owner(), "a");
  EXPECT_GT(checkpoint::newest_claim(*disk_).value()->number, before) << "the place says so, and no flag";
}

}  // namespace
}  // namespace ratoon::session::ownership_test
