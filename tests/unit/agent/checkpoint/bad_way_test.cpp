// A bit that flips once on its way from a sound disk, and that the system then caches: the second read comes
// from the disk.
#include <map>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::bad_way_test {
namespace {

constexpr CheckpointId kOld{.attempt = Attempt(1), .step = Step(10)};
constexpr CheckpointId kNew{.attempt = Attempt(1), .step = Step(20)};

// The system's cached copies of files, by path.
using PageCache = std::map<std::string, std::string>;

class CachedFile : public ReadFile {
 public:
  CachedFile(std::unique_ptr<ReadFile> file, std::string path, PageCache& cache, std::string& flipped)
      : file_(std::move(file)), path_(std::move(path)), cache_(cache), flipped_(flipped) {}

  Result<std::uint64_t> size() const override { return file_->size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    if (!cache_.contains(path_)) {
      std::string text(*file_->size(), '\0');
      if (auto got = file_->read(0, std::as_writable_bytes(std::span(text))); !got) return got;
      // Only the part of a pack behind its header changes, because the header is read first and by itself.
      const bool is_flipped = path_ == flipped_ && (at > 0 || !path_.starts_with(kPacks));
      if (is_flipped) text.back() ^= 1;
      if (is_flipped) flipped_.clear();
      cache_[path_] = std::move(text);
    }
    const auto all = std::as_bytes(std::span(cache_.at(path_)));
    if (at + bytes.size() > all.size()) return Error(ErrorKind::kCorrupted, path_ + " ends too early");
    std::ranges::copy(all.subspan(at, bytes.size()), bytes.begin());
    return {};
  }
  void drop_from_page_cache() const override { cache_.erase(path_); }

 private:
  const std::unique_ptr<ReadFile> file_;
  const std::string path_;
  PageCache& cache_;
  std::string& flipped_;
};

class CachingDisk : public ratoon::test::ModelDisk {
 public:
  using ModelDisk::ModelDisk;
  void flip_once(const std::string& path) {
    cache_.clear();
    flipped_ = path;
  }
  [[nodiscard]] bool has_flipped() const { return flipped_.empty(); }
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    auto file = ModelDisk::open(path);
    if (!file) return file.error();
    return std::unique_ptr<ReadFile>(std::make_unique<CachedFile>(*std::move(file), path, cache_, flipped_));
  }

 private:
  mutable PageCache cache_;
  mutable std::string flipped_;
};

class BadWay : public testing::Test {
 protected:
  void SetUp() override {
    ratoon::test::Life life{.disk = std::make_shared<ratoon::test::ModelDisk>(), .rules = {.last = 5}};
    ASSERT_TRUE(life.save(kOld));
    ASSERT_TRUE(life.save(kNew));
    disk_ = std::make_shared<CachingDisk>(life.disk->image());
    store_.emplace(RunStore::open(disk_, "mark").value());
  }

  std::shared_ptr<CachingDisk> disk_;
  std::optional<RunStore> store_;
};

TEST_F(BadWay, OfAPackIsNoReasonToGiveTheNewestUp) {
  disk_->flip_once(pack_path(kNew, Rank(1)));
  const auto retired = store_->retire_old({.last = 1}, Attempt(1));
  EXPECT_TRUE(disk_->has_flipped());
  EXPECT_TRUE(retired) << retired.error().message();
  const auto inventory = store_->inventory();
  ASSERT_EQ(inventory->complete.size(), 1u) << "the older one went";
  EXPECT_EQ(id_of(inventory->complete.front()), kNew);
  EXPECT_TRUE(inventory->damaged.empty());
}

TEST_F(BadWay, OfAManifestIsNoDamage) {
  disk_->flip_once(manifest_path(kNew));
  const auto inventory = store_->inventory();
  EXPECT_TRUE(disk_->has_flipped());
  EXPECT_EQ(inventory->complete.size(), 2u);
  EXPECT_TRUE(inventory->damaged.empty());
}

TEST_F(BadWay, OfAReceiptIsNoReasonToMissItsCommit) {
  disk_->flip_once(receipt_path(kNew, Rank(1)));
  ASSERT_TRUE(disk_->remove(manifest_path(kNew)));
  const auto committed = store_->try_commit(kNew, 2);
  EXPECT_TRUE(disk_->has_flipped());
  EXPECT_TRUE(committed) << committed.error().message();
}

// The cleanup would remove the part files that only this checkpoint names.
TEST_F(BadWay, OfAnOldManifestDoesNotRemoveItsParts) {
  ratoon::test::Life life{
      .disk = std::make_shared<ratoon::test::ModelDisk>(), .rules = {.last = 5}, .is_in_parts = true};
  ASSERT_TRUE(life.save(kOld));
  ASSERT_TRUE(life.save(kNew));
  const auto disk = std::make_shared<CachingDisk>(life.disk->image());
  disk->flip_once(manifest_path(kOld));
  ASSERT_TRUE(sweep_parts(*disk, kNew));
  EXPECT_TRUE(disk->has_flipped());
  EXPECT_TRUE(RunStore::open(disk, "mark").value().verify(kOld));
}

TEST_F(BadWay, OfTheRecordOfARollbackDoesNotEndTheRun) {
  const Rollback back{.attempt = Attempt(2), .to = kOld};
  ASSERT_TRUE(record_rollback(*disk_, back, "mark"));
  disk_->flip_once(rollback_path(Attempt(2)));
  const auto all = rollbacks_in(*disk_);
  EXPECT_TRUE(disk_->has_flipped());
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(*all, std::vector<Rollback>({back}));
}

}  // namespace
}  // namespace ratoon::checkpoint::bad_way_test
