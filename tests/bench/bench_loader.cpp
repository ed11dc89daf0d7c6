// Samples through a loader, and the time until a resumed run has its first batch.
//
// through_.../threads    rate of tiny samples, end to end: order, read, batch, account (Stream's digest)
// resume_.../percent     open the data, load the state, first batch; `percent` is how far the run was
//
// Samples have 72 bytes: in memory, in a file of records, in shards of MDS; each in a random order.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <benchmark/benchmark.h>

#include <ratoon/data_loader.h>
#include <ratoon/mds_dataset.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/record_dataset.h>

#include "tests/bench/peak.h"
#include "tests/bench/small_shards.h"

namespace {

using ratoon::Column;
using ratoon::ElementType;
using ratoon::bench::Peak;

constexpr std::uint64_t kSamples = ratoon::bench::kSmallSamples;
constexpr std::uint64_t kBatch = 256;

const std::vector<Column>& columns() {
  static const std::vector<Column> columns{{.name = "x", .type = ElementType::kFloat32, .shape = {{16}}},
                                           {.name = "y", .type = ElementType::kInt64, .shape = {{}}}};
  return columns;
}

// A file of 200,000 records of 72 bytes, made once.
const std::filesystem::path& record_file() {
  static const std::filesystem::path path = [] {
    auto made = std::filesystem::temp_directory_path() / "ratoon-bench-records";
    std::ofstream out(made, std::ios::binary);
    for (std::uint64_t id = 0; id < kSamples; ++id) {
      const std::vector<float> x(16, static_cast<float>(id));
      out.write(reinterpret_cast<const char*>(x.data()), 64);
      out.write(reinterpret_cast<const char*>(&id), 8);
    }
    return made;
  }();
  return path;
}

std::shared_ptr<const ratoon::Dataset> records() {
  return ratoon::RecordDataset::open(record_file(), {.columns = columns(), .declared_digest = "bench"});
}

std::shared_ptr<const ratoon::Dataset> memory() {
  std::vector<float> x(16 * kSamples);
  std::vector<std::int64_t> y(kSamples);
  return ratoon::MemoryDataset::of(
      {ratoon::MemoryColumn("x", std::move(x), {16}), ratoon::MemoryColumn("y", std::move(y))});
}

std::shared_ptr<const ratoon::Dataset> shards() {
  return ratoon::MdsDataset::open(ratoon::bench::small_shards().string());
}

// Samples that are computed, in any number.
class Virtual : public ratoon::Dataset {
 public:
  explicit Virtual(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  std::span<const Column> columns() const override { return ::columns(); }
  std::string digest() const override { return "virtual"; }
  void read(std::uint64_t id, ratoon::Sample& into) const override {
    into.begin(id);
    into.add(ElementType::kFloat32, *::columns()[0].shape)[0] = static_cast<std::byte>(id);
    std::memcpy(into.add(ElementType::kInt64, {}).data(), &id, sizeof id);
  }

 private:
  std::uint64_t size_;
};

ratoon::StreamOptions options(std::uint64_t samples) {
  return {.samples = samples, .global_batch = kBatch, .seed = 17, .source = "bench"};
}

void run_through(benchmark::State& state, const std::shared_ptr<const ratoon::Dataset>& data, bool augments) {
  const Peak peak;
  ratoon::LoaderOptions loading{.threads = static_cast<std::uint32_t>(state.range(0)), .prefetch_batches = 8};
  if (augments) {
    loading.augment = [](ratoon::Sample&, ratoon::SampleRandom& random) {
      benchmark::DoNotOptimize(random.next_u64());
    };
  }
  ratoon::Stream stream(options(kSamples));
  ratoon::DataLoader loader(data, stream, loading);
  for (auto _ : state) {
    const ratoon::Batch batch = loader.next();
    benchmark::DoNotOptimize(batch.column("x").bytes().data());
    loader.advance(batch);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  peak.report_whole(state);
}

void through_memory(benchmark::State& state) {
  run_through(state, memory(), false);
}

void through_records(benchmark::State& state) {
  run_through(state, records(), false);
}

void through_records_with_draws(benchmark::State& state) {
  run_through(state, records(), true);
}

void through_shards(benchmark::State& state) {
  run_through(state, shards(), false);
}

void of_threads(benchmark::internal::Benchmark* of) {
  of->ArgName("threads")->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->MeasureProcessCPUTime();
}

BENCHMARK(through_memory)->Apply(of_threads);
BENCHMARK(through_records)->Apply(of_threads);
BENCHMARK(through_shards)->Apply(of_threads);
BENCHMARK(through_records_with_draws)->ArgName("threads")->Arg(0)->UseRealTime()->MeasureProcessCPUTime();

// From a new process to the first batch of a run that had finished this percentage of its third epoch.
void resume(benchmark::State& state, std::uint64_t samples,
            const std::function<std::shared_ptr<const ratoon::Dataset>()>& open) {
  ratoon::Stream before(options(samples));
  before.skip_to(2 * samples + samples / 100 * static_cast<std::uint64_t>(state.range(0)));
  const std::string saved = before.save_state();
  for (auto _ : state) {
    const auto data = open();
    ratoon::Stream stream(options(samples));
    stream.load_state(saved);
    ratoon::DataLoader loader(data, stream, {.threads = 2});
    const ratoon::Batch batch = loader.next();
    benchmark::DoNotOptimize(batch.column("x").bytes().data());
  }
}

void resume_records(benchmark::State& state) {
  resume(state, kSamples, records);
}

void resume_a_billion(benchmark::State& state) {
  resume(state, 1'000'000'000, [] { return std::make_shared<Virtual>(1'000'000'000); });
}

void resume_shards(benchmark::State& state) {
  resume(state, kSamples, shards);
}

void of_percents(benchmark::internal::Benchmark* of) {
  of->ArgName("percent")->Arg(10)->Arg(50)->Arg(90)->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(resume_records)->Apply(of_percents);
BENCHMARK(resume_shards)->Apply(of_percents);
BENCHMARK(resume_a_billion)->Apply(of_percents);

}  // namespace

BENCHMARK_MAIN();
