#include "agent/src/checkpoint/tiers/lineage.h"

#include <gmock/gmock.h>

#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::lineage_test {
namespace {

namespace fs = std::filesystem;
using test::complete_in;
using test::id;
using testing::ElementsAre;
using testing::IsEmpty;

class LineageTest : public testing::TestWithParam<bool> {
 protected:
  LineageTest() : disk_(GetParam() ? test::store_at(folder_ / "run") : test::folder_at(folder_ / "run")) {
    for (const auto& which : {id(1, 10), id(1, 20), id(2, 15)}) test::digest_of_commit(disk_, which);
  }
  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_;
};
INSTANTIATE_TEST_SUITE_P(Places, LineageTest, testing::Values(false, true),
                         [](const auto& place) { return place.param ? "Store" : "Folder"; });

TEST_P(LineageTest, WhatIsSetAsideIsNoCheckpointAndIsNeverDeleted) {
  ASSERT_TRUE(test::run_in(disk_).quarantine_checkpoint(id(1, 10), "bad"));
  EXPECT_EQ(*set_lineage_aside(*disk_, "m"), 3u) << "with what is in quarantine";
  const auto found = take_inventory(*disk_);
  EXPECT_TRUE(found->complete.empty());
  EXPECT_TRUE(found->damaged.empty()) << "the new run is new";
  EXPECT_EQ(found->newest_attempt, Attempt(2)) << "its attempts go on, so no name is used twice";

  test::digest_of_commit(disk_, id(3, 5));
  test::digest_of_commit(disk_, id(3, 6));
  ASSERT_TRUE(test::run_in(disk_).retire_old({.last = 1}, Attempt(3)));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(3, 6)));
  for (const auto& which : {id(1, 10), id(1, 20), id(2, 15)}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / pack_path(which, Rank(0))));
    const std::string name = fs::path(manifest_path(which)).filename();
    fs::rename(folder_ / "run/aside" / name, folder_ / "run" / manifest_path(which));
    EXPECT_TRUE(test::run_in(disk_).verify(which)) << "moved back it is a checkpoint again";
  }
}

TEST_P(LineageTest, TheNewestGoesLast) {
  // The state after a start that was cut off between two moves.
  std::vector<std::vector<CheckpointId>> seen;
  for (const auto& which : {id(1, 10), id(1, 20)}) {
    const fs::path name = fs::path(manifest_path(which)).filename();
    fs::create_directories(folder_ / "run/aside");
    fs::copy(folder_ / "run" / manifest_path(which), folder_ / "run/aside" / name);
  }
  EXPECT_EQ(*set_lineage_aside(*disk_, "m"), 3u) << "the copies of before are no obstacle";
  EXPECT_THAT(complete_in(*disk_), IsEmpty());
  EXPECT_EQ(*set_lineage_aside(*disk_, "m"), 0u);
}

// A disk that fails from the n-th removal on.
class FailingDisk final : public Disk {
 public:
  FailingDisk(std::shared_ptr<Disk> disk, int removals) : disk_(std::move(disk)), removals_(removals) {}
  [[nodiscard]] std::string shown(std::string_view path) const override { return disk_->shown(path); }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override { return disk_->create(path); }
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override { return disk_->open(path); }
  Result<void> rename_no_replace(const std::string& a, const std::string& b) override {
    return disk_->rename_no_replace(a, b);
  }
  Result<void> remove(const std::string& path) override {
    if (removals_-- <= 0) return Error(ErrorKind::kIo, "scripted");
    return disk_->remove(path);
  }
  Result<void> remove_folder(const std::string& path) override { return disk_->remove_folder(path); }
  Result<void> make_folder(const std::string& path) override { return disk_->make_folder(path); }
  Result<void> sync_folder(const std::string& path) override { return disk_->sync_folder(path); }
  Result<std::vector<DiskEntry>> list(const std::string& path) const override { return disk_->list(path); }

 private:
  std::shared_ptr<Disk> disk_;
  int removals_;
};

TEST_P(LineageTest, CutOffAnywhereTheNewestIsStillResumed) {
  for (int removals = 0; removals < 3; ++removals) {
    FailingDisk cut(disk_, removals);
    EXPECT_FALSE(set_lineage_aside(cut, "m" + std::to_string(removals)));
    ASSERT_FALSE(complete_in(*disk_).empty());
    EXPECT_EQ(complete_in(*disk_).front(), id(2, 15));
  }
  EXPECT_TRUE(set_lineage_aside(*disk_, "n"));
  EXPECT_THAT(complete_in(*disk_), IsEmpty());
}

}  // namespace
}  // namespace ratoon::checkpoint::lineage_test
