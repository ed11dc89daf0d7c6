#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/mds_dataset.h>

#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::dataset_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A copy of a golden folder that a test may damage.
class Hurt {
 public:
  explicit Hurt(const std::string& golden) {
    fs::copy(kGolden / golden, path(), fs::copy_options::recursive);
  }

  [[nodiscard]] fs::path path() const { return scratch_ / "data"; }
  [[nodiscard]] fs::path operator/(std::string_view name) const { return path() / name; }

  void change_index(const std::function<void(json&)>& change) const {
    json index = json::parse(test::read_text(path() / "index.json"));
    change(index);
    test::write_text(path() / "index.json", index.dump());
  }

 private:
  test::TemporaryFolder scratch_;
};

// The errors of open() and of reading all samples.
std::string failure_of(const std::vector<std::string>& folders, const MdsOptions& options = {},
                       int* code = nullptr) {
  try {
    const auto data = MdsDataset::open(folders, options);
    Sample sample;
    for (std::uint64_t id = 0; id < data->size(); ++id) data->read(id, sample);
  } catch (const Failure& failure) {
    if (code != nullptr) *code = failure.exit_code;
    return failure.what();
  }
  return "";
}

std::string failure_of(const Hurt& hurt, const MdsOptions& options = {}, int* code = nullptr) {
  return failure_of(std::vector{hurt.path().string()}, options, code);
}

TEST(MdsDataset, ReadsAgainFromTheWorkedExample) {
  const auto data = MdsDataset::open((kGolden / "worked").string());
  EXPECT_EQ(data->size(), 3u);
  EXPECT_THAT(data->shard_sizes(), testing::ElementsAre(3));
  EXPECT_EQ(data->columns()[0].name, "a");
  EXPECT_EQ(data->columns()[0].type, ElementType::kInt64);
  EXPECT_EQ(data->columns()[0].shape, std::vector<std::uint64_t>());
  EXPECT_EQ(data->columns()[1].shape, std::nullopt);
  EXPECT_EQ(data->encoding(1), "bytes");
  EXPECT_THROW((void)data->encoding(2), std::out_of_range);
  Sample sample;
  EXPECT_THROW(data->read(3, sample), std::out_of_range);
  data->read(2, sample);
  EXPECT_EQ(sample.field(0).as<std::int64_t>(), 2);
  EXPECT_EQ(sample.field(1).text(), "xx");
}

TEST(MdsDataset, NoFolderIsNoDataset) {
  EXPECT_THROW((void)MdsDataset::open(std::vector<std::string>()), std::invalid_argument);
  EXPECT_THROW((void)MdsDataset::open((kGolden / "worked").string(), {.fetch_threads = 0}),
               std::invalid_argument);
}

TEST(MdsDataset, ASplitIsAFolderBelow) {
  const auto data = MdsDataset::open((kGolden / "compressed").string(), {.split = "zstd"});
  EXPECT_EQ(data->size(), 3u);
}

TEST(MdsDataset, FoldersFollowEachOther) {
  const std::vector folders = {(kGolden / "worked").string(), (kGolden / "nothing").string(),
                               (kGolden / "compressed" / "br").string()};
  const auto data = MdsDataset::open(folders);
  EXPECT_EQ(data->size(), 6u);
  EXPECT_THAT(data->shard_sizes(), testing::ElementsAre(3, 2, 1));
  Sample sample;
  data->read(5, sample);
  EXPECT_EQ(sample.field(0).as<std::int64_t>(), 2);
  EXPECT_EQ(sample.field(1).bytes.size(), 900u);
  EXPECT_THAT(failure_of(std::vector{folders[0], (kGolden / "every").string()}),
              HasSubstr("every: the folder's columns are not those of the folders before it"));
}

// Compressed and merged folders hold the same samples in other files.
TEST(MdsDataset, DigestIsOfContent) {
  const Hurt moved("merged");
  const auto digest = MdsDataset::open((kGolden / "merged").string())->digest();
  EXPECT_EQ(MdsDataset::open(moved.path().string())->digest(), digest);
  const std::vector parts = {(kGolden / "merged" / "first").string(),
                             (kGolden / "merged" / "second").string()};
  EXPECT_EQ(MdsDataset::open(parts)->digest(), digest);
  EXPECT_NE(MdsDataset::open((kGolden / "worked").string())->digest(), digest);
}

TEST(MdsDataset, TakesWhatLiesBesideItsCompressedFile) {
  const Hurt hurt("compressed/zstd");
  test::write_text(hurt / "shard.00001.mds", "not what the index says");
  EXPECT_THAT(failure_of(hurt), HasSubstr("shard.00001.mds has 23 bytes, but the index says"));
}

TEST(MdsDataset, WhatIsMissingIsNamed) {
  int code = 0;
  EXPECT_THAT(failure_of(std::vector<std::string>{"/nowhere/at/all"}, {.split = "train"}, &code),
              HasSubstr("there is no /nowhere/at/all/train/index.json"));
  EXPECT_EQ(code, 82);
  const Hurt hurt("split");
  fs::remove(hurt / "shard.00003.mds");
  EXPECT_EQ(failure_of(hurt), "shard 3 of the data set: " + (hurt / "shard.00003.mds").string() +
                                  " does not exist, but the index lists it");
  fs::create_directory(hurt / "shard.00003.mds");
  EXPECT_THAT(failure_of(hurt), HasSubstr("shard.00003.mds is no regular file"));
  const Hurt packed("compressed/zstd");
  fs::remove(packed / "shard.00000.mds.zstd");
  EXPECT_THAT(failure_of(packed), HasSubstr("shard.00000.mds does not exist, but the index lists it"));
}

TEST(MdsDataset, AMissingFolderMayBeOfAVolumeThatIsNotMountedYet) {
  const test::TemporaryFolder volume;
  for (const MdsOptions& options :
       {MdsOptions(), MdsOptions{.cache_folder = volume.path().string() + "-cache"}}) {
    int code = 0;
    const auto open = [&](const fs::path& folder) {
      return failure_of(std::vector{folder.string()}, options, &code);
    };
    for (const fs::path& folder : {volume.path(), volume / "c4/train"}) {
      EXPECT_THAT(open(folder), HasSubstr("mounted"));
      EXPECT_EQ(code, 84);
    }
    fs::create_directories(volume / "c4/val");
    EXPECT_THAT(open(volume / "c5/val"),
                HasSubstr("nearest existing folder above it is " + volume.path().string() +
                          ", and this folder is not empty"));
    EXPECT_EQ(code, 82);
    EXPECT_THAT(open(volume / "c4"), HasSubstr("each split has one")) << "a split was left out";
    EXPECT_EQ(code, 82);
    test::write_text(volume / "c4/val/shard.00000.mds", "a writer is at work");
    EXPECT_THAT(open(volume / "c4/val"), HasSubstr("Wait until the data set is complete"));
    EXPECT_EQ(code, 84);
    fs::remove_all(volume / "c4");
    fs::remove_all(options.cache_folder);
  }
}

TEST(MdsDataset, AnIndexThatCannotBeReadIsNamed) {
  const Hurt hurt("worked");
  test::write_text(hurt / "index.json", "{");
  int code = 0;
  EXPECT_THAT(failure_of(hurt, {}, &code),
              HasSubstr(hurt.path().string() + "/index.json: the index is not valid JSON"));
  EXPECT_EQ(code, 82);
  fs::remove(hurt / "index.json");
  fs::create_directory(hurt / "index.json");
  EXPECT_THAT(failure_of(hurt), HasSubstr("is no regular file"));
}

TEST(MdsDataset, WhatIsCutOrTooLongIsRefused) {
  for (const char* golden : {"hashes", "worked"}) {
    const Hurt hurt(golden);
    const std::string whole = test::read_text(hurt / "shard.00000.mds");
    for (const auto& changed : {whole.substr(0, whole.size() - 1), whole + "x", std::string()}) {
      test::write_text(hurt / "shard.00000.mds", changed);
      EXPECT_THAT(failure_of(hurt), HasSubstr("has " + std::to_string(changed.size()) +
                                              " bytes, but the index says " + std::to_string(whole.size())));
    }
  }
}

TEST(MdsDataset, ALyingTableIsRefused) {
  const Hurt hurt("worked");
  hurt.change_index([](json& index) { index["shards"][0]["samples"] = 4; });
  int code = 0;
  EXPECT_THAT(failure_of(hurt, {}, &code),
              HasSubstr("shard.00000.mds: the shard says that it has 3 samples, but the index says 4"));
  EXPECT_EQ(code, 84);
}

TEST(MdsDataset, WrongBytesAreRefused) {
  const Hurt hurt("hashes");
  std::string bytes = test::read_text(hurt / "shard.00000.mds");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_text(hurt / "shard.00000.mds", bytes);
  EXPECT_THAT(failure_of(hurt), HasSubstr("shard.00000.mds: the blake2b is "));
  EXPECT_EQ(failure_of(hurt, {.verifies_local_files = false}), "");
  EXPECT_THAT(failure_of(hurt, {.maps_files = false}), HasSubstr("shard.00000.mds: the blake2b is "));
}

// Each hash by itself, of the stored and of the unpacked bytes.
TEST(MdsDataset, EveryHashIsChecked) {
  for (const char* golden : {"hashes", "zstd_hashes"}) {
    for (const char* part : {"raw_data", "zip_data"}) {
      const Hurt hurt(golden);
      json hashes;
      hurt.change_index([&](json& index) {
        if (index["shards"][0][part].is_object()) hashes = index["shards"][0][part]["hashes"];
      });
      for (const auto& [name, digest] : hashes.items()) {
        std::string wrong = digest.get<std::string>();
        wrong.back() = wrong.back() == '0' ? '1' : '0';
        hurt.change_index([&](json& index) { index["shards"][0][part]["hashes"][name] = wrong; });
        EXPECT_THAT(failure_of(hurt), HasSubstr("the " + name + " is " + digest.get<std::string>() +
                                                ", but the index says " + wrong));
        hurt.change_index([&](json& index) { index["shards"][0][part]["hashes"][name] = digest; });
      }
      EXPECT_EQ(failure_of(hurt), "");
    }
  }
}

TEST(MdsDataset, ABombIsRefusedAtTheSizeThatTheIndexSays) {
  const Hurt hurt("compressed/zstd");
  hurt.change_index([](json& index) {
    index["shards"][1]["raw_data"]["bytes"] = 300;
    index["shards"][1]["raw_data"]["hashes"] = json::object();
    index["shards"][1]["hashes"] = json::array();
  });
  EXPECT_THAT(failure_of(hurt),
              HasSubstr("shard.00001.mds.zstd: the 177 bytes of zstd do not unpack to the 300 bytes"));
}

TEST(MdsDataset, AWrongSampleIsNamed) {
  const Hurt hurt("worked");
  std::string bytes = test::read_text(hurt / "shard.00000.mds");
  bytes[bytes.size() - 14] = 9;  // the size of sample 2's column b
  test::write_text(hurt / "shard.00000.mds", bytes);
  EXPECT_THAT(failure_of(hurt),
              HasSubstr("shard.00000.mds, sample 2 (2 of the data set): the sizes of the sample's columns"));
}

TEST(MdsDataset, ElementsAreOfListsOnly) {
  const auto data = MdsDataset::open((kGolden / "every").string());
  Sample sample, elements;
  data->read(0, sample);
  const std::size_t text = data->column("str");
  EXPECT_THROW(data->elements(text, sample.field(text), elements), std::invalid_argument);
  const std::size_t list = data->column("list_png");
  EXPECT_THROW(data->elements(list, sample.field(text), elements), Failure);
}

TEST(MdsDataset, ManyThreadsReadTheSame) {
  const auto folder = kGolden / "split";
  const json expected = expected_of(folder);
  const auto data = MdsDataset::open(folder.string(), {.maps_files = false, .memory_bytes_max = 600});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { expect_content(*data, expected); });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace ratoon::mds::dataset_test
