// PyTorch's order in C++, beside tests/bench/peers/peer_torch_order.py, which makes it with PyTorch. One
// core. peak_bytes is the greatest amount of memory of a case, above the process's memory before.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include <ratoon/torch_order.h>
#include <ratoon/torch_stream.h>

#include "tests/bench/peak.h"

namespace {

namespace fs = std::filesystem;

using ratoon::DistributedSampler;
using ratoon::DistributedSamplerOptions;
using ratoon::Stream;
using ratoon::bench::Peak;

std::uint64_t samples_of(const benchmark::State& state) {
  return static_cast<std::uint64_t>(state.range(0));
}

void randperm(benchmark::State& state) {
  const Peak peak;
  for (auto _ : state) {
    ratoon::TorchGenerator generator(0);
    benchmark::DoNotOptimize(ratoon::torch_randperm(samples_of(state), generator)[0]);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  peak.report_above(state);
}

DistributedSamplerOptions rank_3_of_8(const benchmark::State& state) {
  return {.samples = samples_of(state), .world_size = 8, .rank = 3, .seed = 17};
}

// A new process: the sampler is made, goes to the middle of an epoch, and gives the next batch.
void distributed_sampler_to_the_middle(benchmark::State& state) {
  const Peak peak;
  std::uint64_t epoch = 0;
  for (auto _ : state) {
    DistributedSampler sampler(rank_3_of_8(state));
    sampler.seek({.epoch = ++epoch, .consumed = samples_of(state) / 2});
    benchmark::DoNotOptimize(sampler.fetch(256));
  }
  peak.report_above(state);
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ratoon-bench-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_;
};

// The same with a file that already contains the list of the epoch.
void distributed_sampler_to_the_middle_with_a_file(benchmark::State& state) {
  const Folder folder;
  DistributedSamplerOptions options = rank_3_of_8(state);
  options.list_folder = folder.path();
  static_cast<void>(DistributedSampler(options).at(0));
  const Peak peak;
  for (auto _ : state) {
    DistributedSampler sampler(options);
    sampler.seek({.epoch = 0, .consumed = samples_of(state) / 2});
    benchmark::DoNotOptimize(sampler.fetch(256));
  }
  peak.report_above(state);
}

// From the text of a checkpoint to the first batch, half way through an epoch.
void stream_resume_at_half(benchmark::State& state) {
  const ratoon::StreamOptions options = ratoon::torch_stream(
      {.samples = samples_of(state), .world_size = 1, .seed = 17}, {.batch_size = 256, .source = "bench"});
  Stream saved(options);
  const std::uint64_t batches = samples_of(state) / 2 / 256;
  begin_at(saved, {.samples = samples_of(state)}, {.epoch = 0, .consumed = batches * 256});
  const std::string text = saved.save_state();
  state.counters["state_bytes"] = static_cast<double>(text.size());
  const Peak peak;
  for (auto _ : state) {
    Stream stream(options);
    stream.load_state(text);
    benchmark::DoNotOptimize(stream.take(0, 1));
  }
  peak.report_above(state);
}

// Through a whole epoch, batch by batch.
void stream_through_an_epoch(benchmark::State& state) {
  const ratoon::StreamOptions options =
      ratoon::torch_stream({.samples = samples_of(state), .world_size = 8, .seed = 17}, {.batch_size = 32});
  Stream stream(options);
  for (auto _ : state) {
    benchmark::DoNotOptimize(stream.take(0, 8));
    if (stream.epoch() > 0) {
      state.PauseTiming();
      stream = Stream(options);
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * 256);
}

// The slot of a sample: the first query in an epoch makes a table, ...
void first_slot_of(benchmark::State& state) {
  const Peak peak;
  const Stream stream(ratoon::torch_stream({.samples = samples_of(state), .seed = 17}, {.batch_size = 256}));
  std::uint64_t epoch = 0;
  for (auto _ : state) {
    state.PauseTiming();  // the epoch's own list is there already
    benchmark::DoNotOptimize(stream.at(++epoch * samples_of(state)));
    state.ResumeTiming();
    benchmark::DoNotOptimize(stream.slot_of(epoch, 4711));
  }
  peak.report_above(state);
}

// ... and each later query uses the table.
void next_slot_of(benchmark::State& state) {
  const Stream stream(ratoon::torch_stream({.samples = samples_of(state), .seed = 17}, {.batch_size = 256}));
  benchmark::DoNotOptimize(stream.slot_of(0, 0));
  std::uint64_t sample = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(stream.slot_of(0, sample = (sample * 25173 + 13849) % samples_of(state)));
}

BENCHMARK(randperm)->Arg(1'000'000)->Arg(10'000'000)->Arg(100'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(distributed_sampler_to_the_middle)
    ->Arg(1'000'000)
    ->Arg(10'000'000)
    ->Arg(100'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(distributed_sampler_to_the_middle_with_a_file)
    ->Arg(1'000'000)
    ->Arg(100'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(stream_resume_at_half)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(stream_through_an_epoch)->Arg(10'000'000);
BENCHMARK(first_slot_of)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(next_slot_of)->Arg(10'000'000);

}  // namespace

BENCHMARK_MAIN();
