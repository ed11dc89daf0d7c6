// Reading shards in MDS format: 200,000 small samples in 62 shards, as tests/bench/peers/peer_mds.py
// reads them with Streaming, and an index of 100,000 shards.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <ratoon/mds_dataset.h>
#include <ratoon/permutation.h>

#include "agent/src/mds/format/index.h"
#include "tests/bench/peak.h"
#include "tests/bench/small_shards.h"

namespace {

using ratoon::bench::Peak;
using ratoon::bench::small_shards;
constexpr std::uint64_t kSamples = ratoon::bench::kSmallSamples;

// As Streaming writes them: some 480 bytes a shard.
std::string large_index(std::uint64_t shards) {
  std::string text = R"({"shards": [)";
  for (std::uint64_t i = 0; i < shards; ++i) {
    text +=
        (i == 0 ? "" : ", ") +
        std::string(
            R"({"column_encodings": ["jpeg", "int"], "column_names": ["image", "label"], )"
            R"("column_sizes": [null, 8], "compression": "zstd", "format": "mds", "hashes": ["sha1"], )"
            R"("raw_data": {"basename": "shard.)") +
        std::to_string(i) +
        R"(.mds", "bytes": 67108740, "hashes": {"sha1": "52e19daa386daeff05b95e5c8edb3e97e538b9b2"}}, )" +
        R"("samples": 582, "size_limit": 67108864, "version": 2, "zip_data": {"basename": "shard.)" +
        std::to_string(i) +
        R"(.mds.zstd", "bytes": 66108740, "hashes": {"sha1": "a2536e7798bb47cbe4882855a59b22985b6af24d"}}})";
  }
  return text + R"(], "version": 2})";
}

void parse_index(benchmark::State& state) {
  const std::string text = large_index(static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    auto index = ratoon::mds::parse_index(text);
    if (!index) state.SkipWithError(index.error().message().c_str());
    benchmark::DoNotOptimize(index);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void open_folder(benchmark::State& state) {
  const std::string folder = small_shards().string();
  for (auto _ : state) benchmark::DoNotOptimize(ratoon::MdsDataset::open(folder));
}

// Open, and read a batch of 256 from a place in a shuffled epoch: what a restarted process does before its
// first step.
void resume(benchmark::State& state) {
  const Peak peak;
  const std::string folder = small_shards().string();
  const std::uint64_t start = kSamples * static_cast<std::uint64_t>(state.range(0)) / 100;
  for (auto _ : state) {
    const auto data = ratoon::MdsDataset::open(folder);
    const ratoon::Permutation order(data->size(), 17);
    ratoon::Sample sample;
    for (std::uint64_t i = 0; i < 256; ++i) {
      data->read(order(start + i), sample);
      benchmark::DoNotOptimize(sample.field(1).as<std::int64_t>());
    }
  }
  peak.report_whole(state);
}

enum class Order { kSequential, kRandom };

// Samples a second of all threads together.
void read_samples(benchmark::State& state, Order order) {
  const Peak peak;
  static const auto data = ratoon::MdsDataset::open(small_shards().string());
  std::vector<std::uint64_t> ids(kSamples);
  for (std::uint64_t i = 0; i < kSamples; ++i) ids[i] = i;
  std::mt19937_64 random(static_cast<std::uint64_t>(state.thread_index()));
  for (std::uint64_t i = kSamples; order == Order::kRandom && i > 1; --i)
    std::swap(ids[i - 1], ids[random() % i]);
  ratoon::Sample sample;
  std::int64_t sum = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    data->read(ids[next], sample);
    sum += sample.field(1).as<std::int64_t>() + std::to_integer<int>(sample.field(0).bytes[5]);
    next = next + 1 == ids.size() ? 0 : next + 1;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
  peak.report_whole(state);
}

BENCHMARK(open_folder)->Unit(benchmark::kMillisecond);
BENCHMARK(resume)->Arg(10)->Arg(50)->Arg(90)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_samples, sequential, Order::kSequential);
BENCHMARK_CAPTURE(read_samples, random, Order::kRandom)->ThreadRange(1, 2)->UseRealTime();
// Last: its memory is in no other case's peak then.
BENCHMARK(parse_index)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
