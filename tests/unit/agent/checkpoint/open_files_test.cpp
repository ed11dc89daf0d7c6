// Checkpoints of more ranks than a process may have files open.
#include <atomic>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::open_files_test {
namespace {

constexpr CheckpointId kId{.attempt = Attempt(1), .step = Step(10)};
constexpr int kOpenMax = 64;

struct Counted {
  std::atomic<int> open = 0;
  std::atomic<int> most = 0;
};

class CountedFile : public ReadFile {
 public:
  CountedFile(std::unique_ptr<ReadFile> file, Counted& counted) : file_(std::move(file)), counted_(counted) {
    const int open = ++counted_.open;
    int most = counted_.most;
    while (most < open && !counted_.most.compare_exchange_weak(most, open)) {
    }
  }
  CountedFile(const CountedFile&) = delete;
  CountedFile& operator=(const CountedFile&) = delete;
  ~CountedFile() override { --counted_.open; }

  Result<std::uint64_t> size() const override { return file_->size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    return file_->read(at, bytes);
  }
  void drop_from_page_cache() const override { file_->drop_from_page_cache(); }

 private:
  const std::unique_ptr<ReadFile> file_;
  Counted& counted_;
};

class CountingDisk : public ratoon::test::ModelDisk {
 public:
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    auto file = ModelDisk::open(path);
    if (!file) return file.error();
    return std::unique_ptr<ReadFile>(std::make_unique<CountedFile>(*std::move(file), counted_));
  }
  [[nodiscard]] int most() const { return counted_.most; }

 private:
  mutable Counted counted_;
};

// Rank r saves row r of as many, and a state of its own.
void write_ranks(const RunStore& store, std::uint32_t ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t row = rank;
    const TensorView views[] = {{.name = "rank", .shape = {4}, .bytes = std::as_bytes(std::span(&row, 1))},
                                {.name = "rows",
                                 .type = ElementType::kInt32,
                                 .shape = {1},
                                 .bytes = std::as_bytes(std::span(&row, 1)),
                                 .box = TensorBox{{rank}, {ranks}}}};
    ASSERT_TRUE(store.write_pack(kId, Rank(rank), views));
  }
}

// The view of rank 7 of another world.
void expect_all_rows(const RunStore& store, const InventoryEntry& entry, std::uint32_t ranks) {
  auto reader = store.read({.attempt = kId.attempt, .step = kId.step, .digest = entry.digest}, Rank(7));
  ASSERT_TRUE(reader) << reader.error().message();
  std::vector<std::uint32_t> rows(ranks);
  const TensorSpec wanted{"rows", ElementType::kInt32, {ranks}};
  const std::span<std::byte> into[] = {std::as_writable_bytes(std::span(rows))};
  const auto loaded = reader->load(std::span(&wanted, 1), into);
  ASSERT_TRUE(loaded) << loaded.error().message();
  std::vector<std::uint32_t> expected(ranks);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(rows, expected);
}

TEST(OpenFiles, AreFewHoweverManyRanksThereAre) {
  constexpr std::uint32_t kRanks = 4096;
  const auto disk = std::make_shared<CountingDisk>();
  const auto store = RunStore::open(disk, "mark").value();
  write_ranks(store, kRanks);
  const auto committed = store.try_commit(kId, kRanks);
  ASSERT_TRUE(committed && *committed);
  EXPECT_LE(disk->most(), kOpenMax) << "of a commit";
  expect_all_rows(store, **committed, kRanks);
  EXPECT_LE(disk->most(), kOpenMax) << "of a load";
}

// The limit of open files, lowered while this object lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = files;
    ::setrlimit(RLIMIT_NOFILE, &lowered);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(OpenFiles, OfThreeHundredRanksNeedNoMoreThanALimitAllows) {
  constexpr std::uint32_t kRanks = 300;
  const ratoon::test::TemporaryFolder folder;
  const auto store = RunStore::open(folder / "run").value();
  write_ranks(store, kRanks);
  const FileLimit limit(256);
  const auto committed = store.try_commit(kId, kRanks);
  ASSERT_TRUE(committed) << committed.error().message();
  ASSERT_TRUE(*committed);
  expect_all_rows(store, **committed, kRanks);
}

}  // namespace
}  // namespace ratoon::checkpoint::open_files_test
