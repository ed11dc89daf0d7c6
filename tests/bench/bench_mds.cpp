// Reading shards in MDS format: 200,000 small samples in 62 shards, and an index of 100,000 shards. Each
// measurement of tests/bench/peers/peer_mds.py with Streaming has a row here that does the same work: a
// sample by its number, samples in the order of training, batches through a loader of one thread or worker,
// and a resume up to the first batch. Both sides read both fields of each sample.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <ratoon/data_loader.h>
#include <ratoon/mds_dataset.h>
#include <ratoon/stream.h>

#include "agent/src/mds/format/index.h"
#include "tests/bench/peak.h"
#include "tests/bench/small_shards.h"

namespace {

using ratoon::bench::Peak;
using ratoon::bench::small_shards;
constexpr std::uint64_t kSamples = ratoon::bench::kSmallSamples;

// Index entries as Streaming writes them: some 480 bytes a shard.
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

constexpr std::uint64_t kBatch = 256;

ratoon::Stream make_stream() {
  return ratoon::Stream({.samples = kSamples, .global_batch = kBatch, .seed = 17, .source = "bench"});
}

// A byte of one field and the number in the other.
std::int64_t look_at(const ratoon::Sample& sample) {
  return std::to_integer<int>(sample.field(0).bytes[5]) + sample.field(1).as<std::int64_t>();
}
std::int64_t look_at(const ratoon::Batch& batch) {
  const auto& x = batch.column("x").bytes();
  const auto& y = batch.column("y").bytes();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBatch; ++i)
    sum += std::to_integer<int>(x[i * 64 + 5]) + std::to_integer<int>(y[i * 8]);
  return sum;
}

// Opens the folder, loads the stream's state, and gets the first batch: the work of a restarted process
// before its first step.
void resume(benchmark::State& state) {
  const Peak peak;
  const std::string folder = small_shards().string();
  ratoon::Stream before = make_stream();
  before.skip_to(kSamples * static_cast<std::uint64_t>(state.range(0)) / 100 / kBatch * kBatch);
  const std::string saved = before.save_state();
  for (auto _ : state) {
    const std::shared_ptr<const ratoon::Dataset> data = ratoon::MdsDataset::open(folder);
    ratoon::Stream stream = make_stream();
    stream.load_state(saved);
    ratoon::DataLoader loader(data, stream, {.threads = 0});
    benchmark::DoNotOptimize(look_at(loader.next()));
  }
  peak.report_above(state);
}

// Samples in the order of training, one after the other.
void iterate_samples(benchmark::State& state) {
  const Peak peak;
  const auto data = ratoon::MdsDataset::open(small_shards().string());
  ratoon::Stream stream = make_stream();
  ratoon::Sample sample;
  std::int64_t sum = 0;
  for (auto _ : state) {
    for (const ratoon::Slot& slot : stream.take(0, 1)) {
      data->read(slot.sample, sample);
      sum += look_at(sample);
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  peak.report_above(state);
}

// The same samples as batches, which one additional thread makes.
void iterate_batches(benchmark::State& state) {
  const Peak peak;
  const std::shared_ptr<const ratoon::Dataset> data = ratoon::MdsDataset::open(small_shards().string());
  ratoon::Stream stream = make_stream();
  ratoon::DataLoader loader(data, stream, {.threads = 1});
  std::int64_t sum = 0;
  for (auto _ : state) {
    const ratoon::Batch batch = loader.next();
    sum += look_at(batch);
    loader.advance(batch);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  peak.report_above(state);
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
    sum += look_at(sample);
    next = next + 1 == ids.size() ? 0 : next + 1;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
  peak.report_above(state);
}

BENCHMARK(open_folder)->Unit(benchmark::kMillisecond);
BENCHMARK(resume)->Arg(10)->Arg(50)->Arg(90)->Unit(benchmark::kMillisecond);
BENCHMARK(iterate_samples)->UseRealTime();
BENCHMARK(iterate_batches)->UseRealTime();
BENCHMARK_CAPTURE(read_samples, sequential, Order::kSequential);
BENCHMARK_CAPTURE(read_samples, random, Order::kRandom)->ThreadRange(1, 2)->UseRealTime();
// This case is last, so that its memory is not in the peak of another case.
BENCHMARK(parse_index)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
