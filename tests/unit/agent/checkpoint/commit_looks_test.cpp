// The number of checks for a commit, and the reads of each check.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/saver/commit_pause.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::commit_looks_test {
namespace {

constexpr CheckpointId kId{.attempt = Attempt(1), .step = Step(20)};

class CommitLooks : public testing::Test {
 protected:
  void write(std::uint32_t rank) {
    const std::string sum = std::to_string(rank);
    const TensorView view{.name = "sum", .shape = {sum.size()}, .bytes = std::as_bytes(std::span(sum))};
    ASSERT_TRUE(store_.write_pack(kId, Rank(rank), std::span(&view, 1)));
  }
  void remove(const std::string& path) { ASSERT_TRUE(std::filesystem::remove(folder_ / "run" / path)); }

  test::TemporaryFolder folder_;
  RunStore store_ = *RunStore::open(folder_ / "run");
  std::vector<PackRecord> receipts_;
};

TEST_F(CommitLooks, ReadNoReceiptTwice) {
  write(0);
  EXPECT_EQ(store_.try_commit(kId, 2, receipts_).value(), std::nullopt);
  EXPECT_EQ(receipts_.size(), 1u);
  remove(receipt_path(kId, Rank(0)));
  write(1);
  EXPECT_TRUE(store_.try_commit(kId, 2, receipts_).value());
}

// The receipts may have changed by then.
TEST_F(CommitLooks, ReadAllAnewAfterAnError) {
  write(0);
  EXPECT_EQ(store_.try_commit(kId, 2, receipts_).value(), std::nullopt);
  write(1);
  remove(pack_path(kId, Rank(0)));
  EXPECT_FALSE(store_.try_commit(kId, 2, receipts_));
  EXPECT_TRUE(receipts_.empty());
}

TEST(CommitPause, GrowsWhileNothingHappens) {
  CommitPause pause;
  EXPECT_EQ(pause.next(), std::chrono::milliseconds(10));
  Duration waited = std::chrono::milliseconds(10);
  int looks = 1;
  for (; waited < std::chrono::minutes(1); ++looks) {
    const Duration next = pause.next();
    EXPECT_LE(next, std::max<Duration>(std::chrono::milliseconds(10), waited / 8));
    EXPECT_LE(next, std::chrono::seconds(1));
    waited += next;
  }
  EXPECT_LT(looks, 150) << "6000 with a pause of 10 ms";
  EXPECT_EQ(pause.next(), std::chrono::seconds(1));
  pause.reset();
  EXPECT_EQ(pause.next(), std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace ratoon::checkpoint::commit_looks_test
