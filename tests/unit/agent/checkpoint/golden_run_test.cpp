// A run's folder as the first release of format 2 left it (format_probe write): it is loaded, continued, and
// written again with the same bytes.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/sample_run.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::golden_run_test {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = "tests/unit/agent/checkpoint/golden/format2";
const CheckpointId kSaved{.attempt = Attempt(2), .step = Step(20)};

class GoldenRunTest : public testing::Test {
 protected:
  GoldenRunTest() { fs::copy(kGolden, folder_ / "run", fs::copy_options::recursive); }

  static ResumePoint newest(const RunStore& run) {
    const auto found = run.inventory();
    EXPECT_EQ(found->complete.size(), 1u);
    const InventoryEntry& entry = found->complete.front();
    EXPECT_EQ(id_of(entry), kSaved);
    return {.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }

  ratoon::test::TemporaryFolder folder_;
  const RunStore run_ = *RunStore::open(folder_ / "run");
};

void expect_loads(const RunStore& run, const ResumePoint& point, std::uint32_t rank) {
  std::vector<ratoon::test::WholeTensor> known = ratoon::test::own_samples(kSaved, rank % 3);
  for (auto& sample : ratoon::test::shared_samples(kSaved)) known.push_back(std::move(sample.tensor));
  std::vector<TensorSpec> wanted;
  std::vector<std::string> found;
  std::vector<std::span<std::byte>> into;
  found.reserve(known.size());
  for (const auto& tensor : known) {
    wanted.push_back({.name = tensor.name, .type = tensor.type, .shape = tensor.shape});
    found.emplace_back(tensor.bytes.size(), '\0');
    into.push_back(std::as_writable_bytes(std::span(found.back())));
  }
  auto reader = run.read(point, Rank(rank));
  ASSERT_TRUE(reader);
  const auto loaded = reader->load(wanted, into);
  ASSERT_TRUE(loaded) << loaded.error().message();
  for (std::size_t i = 0; i < known.size(); ++i) EXPECT_EQ(found[i], known[i].bytes) << known[i].name;
}

TEST_F(GoldenRunTest, IsLoadedByAnyNumberOfRanks) {
  ASSERT_TRUE(run_.verify(kSaved));
  for (const std::uint32_t rank : {0U, 1U, 2U, 7U}) expect_loads(run_, newest(run_), rank);
}

TEST_F(GoldenRunTest, IsGoneOnWith) {
  const std::string bytes = "of this version";
  const TensorView view{.name = "w", .shape = {bytes.size()}, .bytes = std::as_bytes(std::span(bytes))};
  const CheckpointId next{.attempt = Attempt(3), .step = Step(21)};
  ASSERT_TRUE(run_.write_pack(next, Rank(0), std::span(&view, 1)));
  ASSERT_TRUE(run_.try_commit(next, 1));
  EXPECT_EQ(run_.inventory()->complete.size(), 2u);
  ASSERT_TRUE(run_.retire_old({.last = 1}, Attempt(3)));
  EXPECT_EQ(run_.inventory()->complete.size(), 1u);
  EXPECT_FALSE(fs::exists(folder_ / "run" / packs_folder(kSaved)));
}

// A change of one byte of the format needs another format number.
TEST_F(GoldenRunTest, IsWrittenByteForByte) {
  ASSERT_TRUE(ratoon::test::save_sample_run(folder_ / "again"));
  for (std::uint32_t rank = 0; rank < ratoon::test::kSampleRanks; ++rank) {
    for (const std::string& path : {pack_path(kSaved, Rank(rank)), receipt_path(kSaved, Rank(rank))})
      EXPECT_TRUE(ratoon::test::read_text(folder_ / "again" / path) ==
                  ratoon::test::read_text(kGolden / path))
          << path;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::golden_run_test
