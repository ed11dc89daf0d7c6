// A loader's threads and a cache with almost no room: a thread without work keeps no file in it.
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/mds_dataset.h>
#include <ratoon/mds_writer.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::loader_cache_test {
namespace {

namespace fs = std::filesystem;

TEST(LoaderCache, OfTwoShardsIsEnoughForEightThreads) {
  constexpr std::uint64_t kShards = 64;
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch / "far", {{"a", "int"}}, {.size_limit_bytes = 1});  // each sample its own shard
  for (std::uint64_t value = 0; value < kShards; ++value)
    writer.write({{"a", static_cast<std::int64_t>(value)}});
  writer.finish();
  const auto data = MdsDataset::open("file://" + (scratch / "far").string(),
                                     {.cache_folder = scratch / "cache",
                                      .cache_bytes_max = 2 * fs::file_size(scratch / "far/shard.00001.mds")});
  Stream stream({.samples = data->size(), .global_batch = 16, .seed = 3, .source = "numbers"});
  DataLoader loader(data, stream, {.threads = 8, .prefetch_batches = 1});
  for (int i = 0; i < 5; ++i) {
    const Batch batch = loader.next();
    ASSERT_EQ(batch.size(), 16u);
    for (std::size_t row = 0; row < batch.size(); ++row)
      EXPECT_EQ(batch.column("a").row(row).as<std::uint64_t>(), batch.slots()[row].sample);
    loader.advance(batch);
  }
}

}  // namespace
}  // namespace ratoon::loader_cache_test
