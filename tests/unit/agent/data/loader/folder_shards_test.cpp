// Folders of classes through a loader: whole, in parts that ranks share, and as a part that each rank holds
// for itself; each is stopped and resumed.
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/folder_dataset.h>
#include <ratoon/replica_subset.h>
#include <ratoon/subset_dataset.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::folder_shards_test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::uint64_t kFiles = 23;

class FolderShards : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      const std::string name = std::string(1, static_cast<char>('a' + i % 3)) + "/" + std::to_string(100 + i);
      std::filesystem::create_directories((root_ / name).parent_path());
      test::write_text(root_ / (name + ".png"), name);
    }
    all_ = FolderDataset::open(root_.path(), {});
  }

  // A batch's data about its files: the name in each, checked against label and number.
  std::vector<std::string> files_in(const Batch& batch, const SubsetDataset* part = nullptr) const {
    std::vector<std::string> files;
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t sample = batch.slots()[row].sample;
      const std::uint64_t id = part == nullptr ? sample : part->id_in_all(sample);
      files.emplace_back(batch.column("bytes").row(row).text());
      EXPECT_EQ(files.back() + ".png", all_->file_of(id));
      EXPECT_EQ(batch.column("label").row(row).as<std::int64_t>(), files.back()[0] - 'a');
    }
    return files;
  }

  test::TemporaryFolder root_;
  std::shared_ptr<const FolderDataset> all_;
};

// A process over some data: all objects are made anew, and go on from a state.
struct Process {
  Process(std::shared_ptr<const Dataset> of, StreamOptions options, const std::string& state,
          LoaderOptions loading = {.threads = 2, .prefetch_batches = 3})
      : data(std::move(of)), stream(std::move(options)), loader(data, stream, std::move(loading)) {
    if (!state.empty()) stream.load_state(state);
  }

  std::shared_ptr<const Dataset> data;
  Stream stream;
  DataLoader loader;
};

StreamOptions order_of(const Dataset& data, std::uint64_t global_batch = 4) {
  return {.global_batch = global_batch, .seed = 17, .sources = {source_of(data)}};
}

std::map<std::string, int> times_seen(const std::vector<std::string>& files) {
  std::map<std::string, int> times;
  for (const std::string& file : files) ++times[file];
  return times;
}

// This number of batches, by processes that live for `each` of them, and have read ahead when they die.
template <class MakeProcess, class FilesIn>
std::vector<std::string> train(std::uint64_t batches, std::uint64_t each, const MakeProcess& make,
                               const FilesIn& files_in) {
  std::vector<std::string> files;
  std::string state;
  for (std::uint64_t done = 0; done < batches;) {
    const auto process = make(state);
    for (std::uint64_t i = 0; i < each && done < batches; ++i, ++done) {
      const Batch batch = process->loader.next();
      for (std::string& file : files_in(batch)) files.push_back(std::move(file));
      process->loader.advance(batch);
    }
    static_cast<void>(process->loader.next());
    state = process->stream.save_state();
  }
  return files;
}

TEST_F(FolderShards, WholeItGoesOnWhereItWas) {
  const auto make = [&](const std::string& state) {
    return std::make_unique<Process>(all_, order_of(*all_), state);
  };
  const auto files_in = [&](const Batch& batch) { return this->files_in(batch); };
  const auto unbroken = train(kFiles, kFiles, make, files_in);
  EXPECT_EQ(train(kFiles, 3, make, files_in), unbroken);
  const auto times = times_seen(unbroken);
  EXPECT_EQ(times.size(), kFiles);
  for (const auto& [file, count] : times) EXPECT_EQ(count, 4) << file << " in four epochs";
}

TEST_F(FolderShards, ASplitOfItSharedByRanksHasEachOfItsFilesOnce) {
  std::vector<std::uint64_t> even;
  for (std::uint64_t id = 0; id < kFiles; id += 2) even.push_back(id);
  const auto part = SubsetDataset::of_ids(all_, even);
  const std::uint64_t batches = part->size();  // of 4 and 5 files: four and five epochs
  std::vector<std::string> files;
  std::string state;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {  // another world for each
    const auto world = static_cast<std::uint32_t>(1 + batch % 5);
    std::vector<std::string> states;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      Process process(part, order_of(*part), state, {.rank = rank, .world_size = world, .threads = rank % 3});
      const Batch mine = process.loader.next();
      for (std::string& file : files_in(mine, part.get())) files.push_back(std::move(file));
      process.loader.advance(mine);
      states.push_back(process.stream.save_state());
    }
    EXPECT_THAT(states, Each(states.front()));
    state = states.front();
  }
  const auto times = times_seen(files);
  EXPECT_EQ(times.size(), even.size());
  for (const auto& [file, count] : times) EXPECT_EQ(count, 4) << file;
}

TEST_F(FolderShards, EachRankHoldsAPartOfItAndGoesOnInIt) {
  constexpr std::uint32_t kWorld = 4;
  std::set<std::string> held_by_all;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    const ReplicaSubset mine(
        {.samples = kFiles, .rank = rank, .world_size = kWorld, .fraction = 0.4, .shuffle_seed = 5});
    ASSERT_TRUE(mine.covers_all());
    const auto held = SubsetDataset::of_ids(all_, mine.ids());
    const StreamOptions order = mine.stream({.global_batch = 3, .seed = 17, .source = all_->digest()});
    const auto make = [&](const std::string& state) { return std::make_unique<Process>(held, order, state); };
    const auto files_in = [&](const Batch& batch) { return this->files_in(batch, held.get()); };
    const std::uint64_t batches = held->size();  // of three: three epochs
    const auto unbroken = train(batches, batches, make, files_in);
    EXPECT_EQ(train(batches, 1 + rank, make, files_in), unbroken);
    const auto times = times_seen(unbroken);
    EXPECT_EQ(times.size(), mine.size());
    for (const auto& [file, count] : times) EXPECT_EQ(count, 3) << file;
    for (const auto& [file, count] : times) held_by_all.insert(file);
  }
  EXPECT_EQ(held_by_all.size(), kFiles);
}

std::string refusal_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was refused";
}

TEST_F(FolderShards, TheStateOfAnotherPartIsRefused) {
  const auto first = SubsetDataset::of(all_, {{0, 10}});
  const auto second = SubsetDataset::of(all_, {{10, 20}});
  const std::string state = Process(first, order_of(*first), "").stream.save_state();
  EXPECT_THAT(refusal_of([&] { Process(second, order_of(*second), state); }),
              AllOf(HasSubstr(first->digest()), HasSubstr(second->digest())));
  EXPECT_THAT(refusal_of([&] { Process(all_, order_of(*all_), state); }), HasSubstr(all_->digest()));
  const auto order_of_rank = [&](std::uint32_t rank) {
    return ReplicaSubset({.samples = kFiles, .rank = rank, .world_size = 2, .fraction = 0.5})
        .stream({.global_batch = 3, .source = all_->digest()});
  };
  const std::string of_rank_0 = Stream(order_of_rank(0)).save_state();
  EXPECT_THAT(refusal_of([&] { Stream(order_of_rank(1)).load_state(of_rank_0); }), HasSubstr("does not fit"));
}

TEST_F(FolderShards, AFileThatIsGoneEndsNoEpochInSilence) {
  const auto part = SubsetDataset::of(all_, {{5, 10}});
  Process process(part, order_of(*part, 5), "", {.threads = 0});
  std::filesystem::remove(root_ / all_->file_of(7));
  const std::string sentence = refusal_of([&] { static_cast<void>(process.loader.next()); });
  EXPECT_THAT(sentence, HasSubstr((root_ / all_->file_of(7)).string()));
  test::write_text(root_ / all_->file_of(7), all_->file_of(7).substr(0, 5));
  EXPECT_EQ(files_in(process.loader.next(), part.get()).size(), 5u) << "the same batch is tried again";
}

}  // namespace
}  // namespace ratoon::folder_shards_test
