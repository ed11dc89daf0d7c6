// Checkpoints whose tensors are saved in parts: what a save writes, what a load reads, and what is removed.
#include "agent/src/checkpoint/parts/part_files.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "agent/src/checkpoint/tiers/stores/mirror.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::part_files_test {
namespace {

namespace fs = std::filesystem;
using test::complete_in;
using test::id;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kRows = 40'000;
constexpr std::size_t kRowBytes = 100;
constexpr PartSizes kSizes{.tensor_bytes_min = 1024, .part_bytes_min = 102'400};  // 40 parts

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

// A ring buffer of rows, which a program fills and overwrites.
class Ring {
 public:
  explicit Ring(unsigned seed = 1) : random_(seed) { put(kRows); }

  void put(std::size_t rows) {
    for (std::size_t i = 0; i < rows * kRowBytes; ++i) {
      bytes_[at_] = static_cast<char>(random_());
      at_ = (at_ + 1) % bytes_.size();
    }
  }
  [[nodiscard]] TensorView view() const {
    return {.name = "replay",
            .shape = {kRows, kRowBytes},
            .bytes = std::as_bytes(std::span(bytes_)),
            .is_saved_in_parts = true};
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::mt19937 random_;
  std::string bytes_ = std::string(kRows * kRowBytes, '\0');
  std::size_t at_ = 0;
};

class PartFilesTest : public testing::Test {
 protected:
  PartFilesTest() : disk_(test::folder_at(folder_ / "run")), store_(test::run_in(disk_)) {}

  // Saves the ring of each rank, and commits. The next save refers to the parts of this checkpoint.
  InventoryEntry commit(const CheckpointId& which, const std::vector<const Ring*>& rings) {
    EXPECT_TRUE(write(which, rings));
    const auto committed = store_.try_commit(which, static_cast<std::uint32_t>(rings.size()));
    EXPECT_TRUE(committed) << committed.error().message();
    note_known(which);
    return **committed;
  }
  Result<void> write(const CheckpointId& which, const std::vector<const Ring*>& rings) {
    for (std::uint32_t rank = 0; rank < rings.size(); ++rank) {
      const std::string weights = "weights of step " + std::to_string(which.step.value());
      const TensorView views[] = {
          {.name = "w", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))},
          rings[rank]->view()};
      known_.resize(std::max<std::size_t>(known_.size(), rank + 1), CommittedParts({}, {}, kSizes));
      if (auto written = store_.write_pack(which, Rank(rank), views, known_[rank]); !written) return written;
    }
    return {};
  }
  void note_known(const CheckpointId& which) {
    const auto sealed = read_manifest(*disk_, which);
    ASSERT_TRUE(sealed);
    for (const PackRecord& pack : sealed->manifest.packs)
      known_[pack.rank.value()] = CommittedParts(which, pack.tensors_in_parts, kSizes);
  }
  std::string load(const InventoryEntry& entry, std::uint32_t rank = 0) {
    const auto loaded =
        store_.load({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(rank));
    EXPECT_TRUE(loaded) << loaded.error().message();
    return loaded ? loaded->at("replay").bytes : "";
  }
  fs::path run() const { return folder_ / "run"; }
  fs::path parts() const { return run() / "parts"; }

  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_;
  RunStore store_;
  std::vector<CommittedParts> known_;
  Ring ring_;
};

TEST_F(PartFilesTest, ASaveWritesTheNewPartBesideTheOldOnes) {
  const auto first = commit(id(1, 10), {&ring_});
  const std::string before = ring_.bytes();
  const std::uint64_t written = bytes_below(run());
  EXPECT_GT(written, ring_.bytes().size());
  ring_.put(kRows / 100);
  const auto second = commit(id(1, 20), {&ring_});
  EXPECT_LE(bytes_below(parts()), ring_.bytes().size() * 112 / 100) << "with a header of 4 KiB for each part";
  EXPECT_LE(files_below(parts() / "a0001/s0000000020").size(), 2u);
  EXPECT_EQ(load(second), ring_.bytes());
  EXPECT_EQ(load(first), before);
  EXPECT_TRUE(store_.verify(id(1, 20)));
}

TEST_F(PartFilesTest, AnyRankReadsTheTensorOfItsOwnRank) {
  const Ring other(2);
  const auto entry = commit(id(1, 10), {&ring_, &other});
  EXPECT_EQ(load(entry, 0), ring_.bytes());
  EXPECT_EQ(load(entry, 1), other.bytes());
  EXPECT_EQ(load(entry, 2), ring_.bytes()) << "rank r reads the state of rank r modulo 2";
  const auto reader =
      store_.read({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(1));
  ASSERT_TRUE(reader);
  std::vector<std::string> names;
  for (const PackedTensor& tensor : reader->own()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("w", "replay"));
}

TEST_F(PartFilesTest, ReadsOnlyTheRowsThatAreWanted) {
  const auto entry = commit(id(1, 10), {&ring_});
  auto reader = store_.read({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(0));
  ASSERT_TRUE(reader);
  std::string rows(2 * kRowBytes, '\0');
  const TensorSpec wanted{.name = "replay",
                          .shape = {2, kRowBytes},
                          .box = TensorBox{.begin = {100, 0}, .whole_shape = {kRows, kRowBytes}}};
  const auto loaded =
      reader->load(std::span(&wanted, 1), std::array{std::as_writable_bytes(std::span(rows))});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(rows, ring_.bytes().substr(100 * kRowBytes, rows.size()));
  EXPECT_LT(loaded->bytes_read, 100'000u);
}

TEST_F(PartFilesTest, RetentionRemovesThePartsThatNoCheckpointNeeds) {
  for (std::uint64_t step = 10; step <= 200; step += 10) {
    ring_.put(kRows / 10);
    const auto entry = commit(id(1, step), {&ring_});
    ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(1)));
    ASSERT_EQ(load(entry), ring_.bytes()) << step;
    ASSERT_TRUE(store_.verify(id(1, step)));
    if (step > 10) {
      ASSERT_TRUE(store_.verify(id(1, step - 10))) << "the older kept checkpoint is whole";
    }
  }
  EXPECT_LE(bytes_below(parts()), ring_.bytes().size() * 13 / 10);
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(1, 200), id(1, 190)));
}

TEST_F(PartFilesTest, PinnedAndQuarantinedCheckpointsKeepTheirParts) {
  commit(id(1, 10), {&ring_});
  ASSERT_TRUE(pin(*disk_, id(1, 10), "a test", "mark"));
  ring_.put(kRows);
  commit(id(1, 20), {&ring_});
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 20), "a test"));
  for (std::uint64_t step = 30; step <= 50; step += 10) {
    ring_.put(kRows);
    commit(id(1, step), {&ring_});
    ASSERT_TRUE(store_.retire_old({.last = 1}, Attempt(1)));
  }
  EXPECT_TRUE(store_.verify(id(1, 10)));
  EXPECT_EQ(files_below(parts() / "a0001/s0000000020").size(),
            files_below(parts() / "a0001/s0000000050").size());
  EXPECT_TRUE(files_below(parts() / "a0001/s0000000030").empty());
}

TEST_F(PartFilesTest, AProcessOfAnOlderAttemptRemovesNoParts) {
  commit(id(1, 10), {&ring_});
  ring_.put(kRows);
  ASSERT_TRUE(write(id(2, 20), {&ring_})) << "not committed yet";
  ASSERT_TRUE(sweep_parts(*disk_, id(1, 1000)));
  EXPECT_TRUE(store_.try_commit(id(2, 20), 1).value());
  EXPECT_TRUE(store_.verify(id(2, 20)));
}

TEST_F(PartFilesTest, TheNextAttemptRemovesThePartsOfSavesThatWereNeverCommitted) {
  commit(id(1, 10), {&ring_});
  ring_.put(kRows);
  ASSERT_TRUE(write(id(1, 20), {&ring_})) << "never committed";
  known_.clear();
  commit(id(2, 20), {&ring_});
  ASSERT_TRUE(store_.retire_old({.last = 1}, Attempt(2)));
  EXPECT_TRUE(files_below(parts() / "a0001").empty());
  EXPECT_TRUE(store_.verify(id(2, 20)));
}

TEST_F(PartFilesTest, ACheckpointThatRefersToARemovedPartIsNotCommitted) {
  commit(id(1, 10), {&ring_});
  ASSERT_TRUE(write(id(1, 30), {&ring_})) << "refers to the parts of step 10";
  const auto known = known_;
  known_.clear();
  ring_.put(kRows);
  commit(id(1, 20), {&ring_});
  ASSERT_TRUE(store_.retire_old({.last = 1}, Attempt(1)));
  const auto committed = store_.try_commit(id(1, 30), 1);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(committed.error().message(), HasSubstr("the next save writes the part again"));
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(1, 20)));
}

TEST_F(PartFilesTest, ACheckpointThatRefersToExistingPartsOfARemovedOneIsCommitted) {
  commit(id(1, 10), {&ring_});
  commit(id(1, 20), {&ring_});
  known_.clear();
  known_.emplace_back(id(1, 10), read_manifest(*disk_, id(1, 10))->manifest.packs.front().tensors_in_parts,
                      kSizes);
  ASSERT_TRUE(write(id(1, 30), {&ring_}));
  ASSERT_TRUE(store_.retire_old({.last = 1}, Attempt(1)));
  EXPECT_TRUE(store_.try_commit(id(1, 30), 1).value());
  EXPECT_TRUE(store_.verify(id(1, 30)));
}

TEST_F(PartFilesTest, DamagedPartsAreFoundAndNotReferredToAgain) {
  commit(id(1, 10), {&ring_});
  ring_.put(kRows / 10);
  const auto entry = commit(id(1, 20), {&ring_});
  const auto damaged = files_below(parts() / "a0001/s0000000020").front();
  std::string text = ratoon::test::read_text(damaged);
  text.back() ^= 1;
  ratoon::test::write_text(damaged, text);

  const auto loaded =
      store_.load({.attempt = entry.attempt, .step = entry.step, .digest = entry.digest}, Rank(0));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kCorrupted);
  EXPECT_FALSE(store_.verify(id(1, 20)));
  const auto retired = store_.retire_old({.last = 1}, Attempt(1));
  ASSERT_FALSE(retired) << "the newest checkpoint must be read back before older ones are removed";
  EXPECT_EQ(retired.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(complete_in(*disk_), ElementsAre(id(1, 10)));

  const auto written = write(id(1, 30), {&ring_});
  ASSERT_FALSE(written) << "it would refer to parts of a checkpoint in quarantine";
  EXPECT_EQ(written.error().kind(), ErrorKind::kConflict);
  known_.clear();
  EXPECT_EQ(load(commit(id(1, 40), {&ring_})), ring_.bytes());
}

TEST_F(PartFilesTest, AMissingPartIsDamage) {
  const auto entry = commit(id(1, 10), {&ring_});
  fs::remove(files_below(parts()).front());
  const auto verified = store_.verify(id(1, 10));
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().kind(), ErrorKind::kCorrupted);
}

TEST_F(PartFilesTest, AStoreGetsEachPartOnceAndIsCompleteAlone) {
  const auto store = test::store_at(folder_ / "store");
  commit(id(1, 10), {&ring_});
  ASSERT_TRUE(mirror_checkpoint(*disk_, id(1, 10), *store, {}));
  ring_.put(kRows / 100);
  commit(id(1, 20), {&ring_});
  const std::uint64_t before = bytes_below(folder_ / "store");
  ASSERT_TRUE(mirror_checkpoint(*disk_, id(1, 20), *store, {}));
  EXPECT_LE(bytes_below(folder_ / "store") - before, ring_.bytes().size() / 10);
  fs::remove_all(run());

  const RunStore there = test::run_in(store);
  ASSERT_TRUE(there.verify(id(1, 10)));
  ASSERT_TRUE(there.verify(id(1, 20)));
  ASSERT_TRUE(there.retire_old({.last = 1}, Attempt(1), {}, ReadBackScope::kHeaders));
  ASSERT_TRUE(there.verify(id(1, 20)));
  const auto entry = there.find(id(1, 20)).value();
  const auto loaded =
      there.load({.attempt = entry->attempt, .step = entry->step, .digest = entry->digest}, Rank(0));
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->at("replay").bytes, ring_.bytes());
}

TEST_F(PartFilesTest, AStoreCanBeTheOnlyPlace) {
  disk_ = test::store_at(folder_ / "store");
  store_ = test::run_in(disk_);
  for (std::uint64_t step = 10; step <= 40; step += 10) {
    ring_.put(kRows / 10);
    EXPECT_EQ(load(commit(id(1, step), {&ring_})), ring_.bytes());
    ASSERT_TRUE(store_.retire_old({.last = 2}, Attempt(1), {}, ReadBackScope::kHeaders));
  }
  EXPECT_TRUE(store_.verify(id(1, 30)));
  EXPECT_LE(bytes_below(folder_ / "store"), ring_.bytes().size() * 13 / 10);
}

// The figure of a replay buffer: 1 % of its rows are new, and the save writes at most 2 % of its bytes.
class ReplayBufferFigure : public testing::TestWithParam<std::size_t> {};

TEST_P(ReplayBufferFigure, ASaveOfOnePercentWritesAtMostTwoPercent) {
  constexpr std::size_t kBufferBytes = 256U << 20U;
  const ratoon::test::TemporaryFolder folder;
  std::vector<std::uint64_t> buffer(kBufferBytes / sizeof(std::uint64_t));
  std::mt19937_64 random(1);
  for (std::uint64_t& number : buffer) number = random();
  SaverOptions options{.slots_max = GetParam(), .has_writer_thread = false};
  auto saver =
      Saver::open(test::folder_at(folder / "run"), "mark", std::make_shared<SystemClock>(), options).value();
  saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
  const TensorView view{.name = "replay",
                        .type = ElementType::kUint64,
                        .shape = {buffer.size() / 16, 16},
                        .bytes = std::as_bytes(std::span(buffer)),
                        .is_saved_in_parts = true};
  std::size_t at = buffer.size() / 3;
  std::uint64_t bytes = 0;
  for (std::uint64_t step = 1; step <= 4; ++step) {
    ASSERT_TRUE(saver.save(Step(step), std::span(&view, 1)));
    while (!saver.poll().is_committed) {
    }
    const CheckpointId saved = id(1, step);
    bytes = bytes_below(folder / "run" / packs_folder(saved)) +
            bytes_below(folder / "run" / parts_folder(saved)) +
            fs::file_size(folder / "run" / manifest_path(saved));
    if (step == 1) {
      EXPECT_GE(bytes, kBufferBytes);
    } else {
      EXPECT_LE(bytes, kBufferBytes / 50) << step;
    }
    for (std::size_t i = 0; i < buffer.size() / 100; ++i) buffer[at++ % buffer.size()] = random();
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutSlots, ReplayBufferFigure, testing::Values(0U, 2U));

}  // namespace
}  // namespace ratoon::checkpoint::part_files_test
