// Shards that are fetched into a cache: here from a folder, through the same store and cache as from a
// server.
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ratoon/failure.h>
#include <ratoon/mds_writer.h>

#include "agent/src/mds/shards/shard_prefetcher.h"
#include "agent/src/mds/shards/shard_reader.h"
#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::remote_source_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A copy of a golden folder that acts as the remote side, and a cache.
struct Far {
  explicit Far(const std::string& golden) {
    fs::copy(kGolden / golden, scratch / "far", fs::copy_options::recursive);
  }

  [[nodiscard]] std::string uri() const { return "file://" + (scratch / "far").string(); }
  [[nodiscard]] MdsOptions options() const { return {.cache_folder = scratch / "cache"}; }
  [[nodiscard]] std::size_t cached() const {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(scratch / "cache"))
      count += file.path().extension() == ".object" ? 1 : 0;
    return count;
  }
  [[nodiscard]] fs::path only_cached() const {
    for (const auto& file : fs::directory_iterator(scratch / "cache")) {
      if (file.path().extension() == ".object") return file.path();
    }
    return {};
  }

  test::TemporaryFolder scratch;
};

std::string failure_of(const Far& far, const MdsOptions& options) {
  try {
    const auto data = MdsDataset::open(far.uri(), options);
    Sample sample;
    for (std::uint64_t id = 0; id < data->size(); ++id) data->read(id, sample);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

class Fetched : public testing::TestWithParam<std::string> {};

TEST_P(Fetched, IsWhatIsThere) {
  const Far far(GetParam());
  const auto expected = expected_of(kGolden / GetParam());
  const auto data = MdsDataset::open(far.uri(), far.options());
  expect_content(*data, expected);
  EXPECT_EQ(data->digest(), MdsDataset::open((kGolden / GetParam()).string())->digest());
  MdsOptions in_memory = far.options();
  in_memory.maps_files = false;
  expect_content(*MdsDataset::open(far.uri(), in_memory), expected);
}

INSTANTIATE_TEST_SUITE_P(Streaming, Fetched,
                         testing::Values("worked", "every", "merged", "split", "empty_shard", "zstd_hashes",
                                         "compressed/br", "compressed/snappy"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

TEST(Fetched, ComesFromTheCacheTheSecondTime) {
  const Far far("split");
  EXPECT_EQ(failure_of(far, far.options()), "");
  EXPECT_EQ(far.cached(), 5u);
  for (int i = 0; i < 5; ++i) fs::remove(far.scratch / ("far/shard.0000" + std::to_string(i) + ".mds"));
  EXPECT_EQ(failure_of(far, far.options()), "");
}

// Its shards have the former names and sizes, and no hashes that distinguish them.
TEST(Fetched, ADataSetThatWasWrittenAnewIsFetchedAnew) {
  const test::TemporaryFolder scratch;
  const auto first_of = [&](const std::vector<std::int64_t>& values) {
    fs::remove_all(scratch / "far");
    MdsWriter writer(scratch / "far", {{"a", "int"}}, {.size_limit_bytes = 1});  // each its own shard
    for (const std::int64_t value : values) writer.write({{"a", value}});
    writer.finish();
    Sample sample;
    const auto data =
        MdsDataset::open("file://" + (scratch / "far").string(), {.cache_folder = scratch / "cache"});
    data->read(0, sample);
    std::int64_t first = 0;
    std::memcpy(&first, sample.field(0).bytes.data(), sizeof first);
    return first;
  };
  EXPECT_EQ(first_of({1, 2}), 1);
  EXPECT_EQ(first_of({7, 8, 9}), 7);
}

TEST(Fetched, AFileOfTheCacheThatWentBadIsFetchedAgain) {
  const Far far("hashes");
  EXPECT_EQ(failure_of(far, far.options()), "");
  const std::string bytes = test::read_text(far.only_cached());
  std::string bad = bytes;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  test::write_text(far.only_cached(), bad);
  // The clock of a file system advances in steps of some milliseconds.
  fs::last_write_time(far.only_cached(), fs::last_write_time(far.only_cached()) + std::chrono::seconds(1));
  EXPECT_EQ(failure_of(far, far.options()), "");
  EXPECT_EQ(test::read_text(far.only_cached()), bytes);
  test::write_text(far.only_cached(), bytes.substr(1));
  EXPECT_EQ(failure_of(far, far.options()), "");
  EXPECT_EQ(test::read_text(far.only_cached()), bytes);
}

// Without hashes only the offsets tell.
TEST(Fetched, AFileOfTheCacheWhoseOffsetsWentBadIsFetchedAgain) {
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch / "far", {{"a", "int"}}, {});
  for (std::int64_t value = 0; value < 3; ++value) writer.write({{"a", value}});
  writer.finish();
  const auto read = [&] {
    Sample sample;
    MdsDataset::open("file://" + (scratch / "far").string(), {.cache_folder = scratch / "cache"})
        ->read(2, sample);
  };
  read();
  fs::path cached;
  for (const auto& file : fs::directory_iterator(scratch / "cache")) {
    if (file.path().extension() == ".object") cached = file.path();
  }
  const std::string bytes = test::read_text(cached);
  std::string bad = bytes;
  bad[8] = '\x7f';  // where the second sample begins
  test::write_text(cached, bad);
  EXPECT_NO_THROW(read());
  EXPECT_EQ(test::read_text(cached), bytes);
  test::write_text(cached, bad);
  test::write_text(scratch / "far/shard.00000.mds", bad);
  try {
    read();
    FAIL() << "both are bad";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), testing::AllOf(HasSubstr("far/shard.00000.mds"), HasSubstr(cached.string()),
                                               HasSubstr("ends its sample 0 at byte 127")));
  }
}

TEST(Fetched, WhatTheStoreHasWrongIsRefused) {
  for (const char* golden : {"hashes", "zstd_hashes"}) {
    const Far far(golden);
    const json shard = json::parse(test::read_text(far.scratch / "far/index.json"))["shards"][0];
    const fs::path file =
        far.scratch / "far" /
        (shard["zip_data"].is_null() ? shard["raw_data"] : shard["zip_data"])["basename"].get<std::string>();
    std::string bytes = test::read_text(file);
    const std::string whole = bytes;
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    test::write_text(file, bytes);
    EXPECT_THAT(failure_of(far, far.options()),
                testing::AllOf(HasSubstr("blake2b is "), HasSubstr(file.filename().string())));
    test::write_text(file, whole.substr(0, 100));
    EXPECT_THAT(failure_of(far, far.options()), HasSubstr(file.filename().string()));
    test::write_text(file, whole + whole);
    EXPECT_THAT(failure_of(far, far.options()),
                HasSubstr(far.uri() + "/" + file.filename().string() + ": the object is longer than the " +
                          std::to_string(whole.size()) + " bytes that were expected"));
    fs::remove(file);
    EXPECT_THAT(failure_of(far, far.options()), HasSubstr(file.filename().string()));
    EXPECT_EQ(far.cached(), 0u);
    test::write_text(file, whole);
    EXPECT_EQ(failure_of(far, far.options()), "");
  }
}

// The hashes of the unpacked data, apart from those of the compressed file.
TEST(Fetched, WhatItUnpacksToIsCheckedToo) {
  const Far far("zstd_hashes");
  json index = json::parse(test::read_text(far.scratch / "far/index.json"));
  index["shards"][0]["raw_data"]["hashes"]["xxh32"] = "00000000";
  test::write_text(far.scratch / "far/index.json", index.dump());
  EXPECT_THAT(failure_of(far, far.options()), HasSubstr("but the index says 00000000"));
  EXPECT_EQ(far.cached(), 0u);
}

TEST(Fetched, AndTheHashesOfTheCompressedFileWhereItHasNoOthers) {
  const Far far("zstd_hashes");
  json index = json::parse(test::read_text(far.scratch / "far/index.json"));
  index["shards"][0]["hashes"] = json::array();
  index["shards"][0]["raw_data"]["hashes"] = json::object();
  index["shards"][0]["zip_data"]["hashes"] = {{"xxh32", "00000000"}};
  test::write_text(far.scratch / "far/index.json", index.dump());
  EXPECT_THAT(failure_of(far, far.options()), HasSubstr("but the index says 00000000"));
  EXPECT_EQ(far.cached(), 0u);
}

TEST(Fetched, ACompressedFileOfAnotherSizeIsRefused) {
  const Far far("compressed/zstd");
  json index = json::parse(test::read_text(far.scratch / "far/index.json"));
  const auto bytes = index["shards"][0]["zip_data"]["bytes"].get<std::uint64_t>();
  index["shards"][0]["zip_data"]["bytes"] = bytes + 1;
  test::write_text(far.scratch / "far/index.json", index.dump());
  EXPECT_THAT(
      failure_of(far, far.options()),
      HasSubstr("has " + std::to_string(bytes) + " bytes, but the index says " + std::to_string(bytes + 1)));
}

TEST(Fetched, WhatIsNeededNextIsEvictedLast) {
  const Far far("split");
  MdsOptions options = far.options();
  options.cache_bytes_max = 1100;  // two of five shards, the largest of 501 bytes
  const auto data = MdsDataset::open(far.uri(), options);
  const auto sizes = data->shard_sizes();
  const std::uint64_t second = sizes[0];
  const std::uint64_t third = sizes[0] + sizes[1];
  Sample sample;
  data->read(0, sample);
  const timespec long_ago[] = {{1'000, 0}, {1'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, far.only_cached().c_str(), long_ago, 0), 0);
  data->read(second, sample);
  const std::uint64_t next[] = {third, 0};
  data->expect(next);
  data->read(third, sample);
  for (int i = 0; i < 3; ++i) fs::remove(far.scratch / ("far/shard.0000" + std::to_string(i) + ".mds"));
  EXPECT_NO_THROW(data->read(0, sample)) << "used longest ago, but expected";
  EXPECT_THROW(data->read(second, sample), Failure) << "nobody needs it";
}

TEST(Fetched, ALimitIsKeptWhileEverythingIsRead) {
  const Far far("split");
  MdsOptions options = far.options();
  options.cache_bytes_max = 1100;  // two of five shards
  const auto data = MdsDataset::open(far.uri(), options);
  const json expected = expected_of(kGolden / "split");
  for (int round = 0; round < 3; ++round) {
    expect_content(*data, expected);
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(far.scratch / "cache")) bytes += file.file_size();
    EXPECT_LE(bytes, 1100u);
  }
}

// A cache of open files has no room: an open file counts as long as it is open.
TEST(Fetched, OpenShardsLeaveRoomInTheCache) {
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch / "far", {{"a", "int"}}, {.size_limit_bytes = 1});  // each its own shard
  for (std::int64_t value = 0; value < 60; ++value) writer.write({{"a", value}});
  writer.finish();
  const auto shard_bytes = fs::file_size(scratch / "far/shard.00001.mds");
  const auto data =
      MdsDataset::open("file://" + (scratch / "far").string(),
                       {.cache_folder = scratch / "cache", .cache_bytes_max = 20 * shard_bytes});
  Sample sample;
  for (std::uint64_t id = 0; id < 60; ++id) EXPECT_NO_THROW(data->read(id, sample)) << id;
}

TEST(Fetched, ACacheSmallerThanAShardIsRefusedAtTheBeginning) {
  const Far far("split");
  MdsOptions options = far.options();
  options.cache_bytes_max = 1000;
  EXPECT_THAT(failure_of(far, options),
              testing::AllOf(HasSubstr("may hold 1000 bytes, but the largest shard, "),
                             HasSubstr("shard.00000.mds, has 501"),
                             HasSubstr("set cache_bytes_max to at least twice the size of this shard")));
}

TEST(Fetched, AStoreElsewhereNeedsACache) {
  try {
    (void)MdsDataset::open("http://127.0.0.1:1/data");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("http://127.0.0.1:1/data"));
  }
}

// Waits for other threads, for a while.
template <class Done>
bool becomes(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Fetched, WhatIsExpectedComesBeforeAnybodyReads) {
  const Far far("split");
  const auto data = MdsDataset::open(far.uri(), far.options());
  const std::uint64_t ids[] = {39, 0, 38, 12345};
  data->expect(ids);
  EXPECT_TRUE(becomes([&] { return far.cached() == 2; }));
  const std::uint64_t all[] = {0, 10, 20, 30, 39, 25, 35};
  data->expect(all);
  data->expect({});
  EXPECT_TRUE(becomes([&] { return far.cached() == 5; }));
  expect_content(*data, expected_of(kGolden / "split"));
}

// A cache of 16 shards of 60, with all future reads known from the beginning: a prefetched shard evicts none
// that is needed before it, so that each file is fetched once; if the position jumps, the formerly expected
// shards do not delay the others.
TEST(Fetched, AKnownFutureIsFetchedOnce) {
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch / "far", {{"a", "int"}}, {.size_limit_bytes = 1});  // each its own shard
  for (std::int64_t value = 0; value < 60; ++value) writer.write({{"a", value}});
  writer.finish();
  auto folders =
      open_dataset_folders({"file://" + (scratch / "far").string()},
                           {.cache_folder = scratch / "cache",
                            .cache_bytes_max = 16 * fs::file_size(scratch / "far/shard.00001.mds")});
  ASSERT_TRUE(folders);
  const auto cache = folders->cache;
  // 40, and as many as a quarter of the cache ahead. Each thread may fetch one that was withdrawn meanwhile.
  const std::uint64_t once = 44 + folders->fetch_threads;
  ShardReader reader(std::move(*folders));
  using Ids = std::vector<std::uint64_t>;
  const auto ids_of = [](std::uint64_t batch) { return Ids{batch, 59 - batch}; };
  for (std::uint64_t batch = 0; batch < 30; ++batch) reader.expect(ids_of(batch));
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    for (const std::uint64_t id : ids_of(batch)) EXPECT_TRUE(reader.open(id, {}));
    reader.expect_no_more(ids_of(batch));
  }
  EXPECT_LE(cache->counts().fetched, once);
  // The last ones come first: otherwise there is room to fetch one that is not withdrawn yet.
  for (std::uint64_t batch = 30; batch-- > 20;) reader.expect_no_more(ids_of(batch));
  for (std::uint64_t batch = 0; batch < 20; ++batch) reader.expect(ids_of(batch));
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    for (const std::uint64_t id : ids_of(batch)) EXPECT_TRUE(reader.open(id, {}));
    reader.expect_no_more(ids_of(batch));
  }
  EXPECT_LE(cache->counts().fetched, once + 40u);
}

TEST(ShardPrefetcher, OpensInTheOrderOfNeed) {
  std::mutex mutex;
  std::vector<std::size_t> opened;
  bool may_go = false;
  std::condition_variable changed;
  ShardPrefetcher prefetcher(1, [&](std::size_t shard, const std::stop_token&) {
    std::unique_lock lock(mutex);
    opened.push_back(shard);
    changed.notify_all();
    changed.wait(lock, [&] { return may_go; });
  });
  prefetcher.request_shards({5});
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !opened.empty(); });
  prefetcher.request_shards({3, 1, 7, 8});
  EXPECT_FALSE(prefetcher.is_idle());
  prefetcher.request_shards({1, 2, 3});  // shards 7 and 8 are no longer needed
  may_go = true;
  changed.notify_all();
  changed.wait(lock, [&] { return opened.size() == 4; });
  EXPECT_THAT(opened, ElementsAre(5, 1, 2, 3));
  EXPECT_TRUE(prefetcher.is_idle());
}

TEST(ShardPrefetcher, OutlivesMemoryThatRunsOut) {
  std::atomic<int> tries{0};
  ShardPrefetcher prefetcher(1, [&](std::size_t, const std::stop_token&) {
    ++tries;
    throw std::bad_alloc();
  });
  prefetcher.request_shards({1, 2, 3});
  EXPECT_TRUE(becomes([&] { return tries == 3; }));
}

TEST(ShardPrefetcher, ItsEndEndsWhatIsUnderWay) {
  std::atomic<int> begun{0};
  {
    ShardPrefetcher prefetcher(2, [&](std::size_t, const std::stop_token& stop) {
      ++begun;
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    prefetcher.request_shards({1, 2, 3});
    EXPECT_TRUE(becomes([&] { return begun == 2; }));
  }
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace ratoon::mds::remote_source_test
