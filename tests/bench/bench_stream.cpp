// The cost of the order of samples: finding a place, going through places, a step of a rank, and the memory.
// Times are measured on one core; counters give the bytes of memory and state.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <ratoon/permutation.h>
#include <ratoon/stream.h>

namespace {

using ratoon::Slot;
using ratoon::Stream;
using ratoon::StreamOptions;
using ratoon::StreamReader;

constexpr std::uint64_t kBlock = 65536;  // draws of a mixture's block

StreamOptions shuffled(std::uint64_t samples) {
  return {.samples = samples, .global_batch = 4096, .seed = 17, .source = "bench"};
}

StreamOptions mixture(std::size_t sources) {
  StreamOptions options{.global_batch = 4096, .seed = 17};
  for (std::size_t i = 0; i < sources; ++i) {
    options.sources.push_back({.name = "source " + std::to_string(i),
                               .samples = 1'000'000 + 777 * i,
                               .weight = 1.0 + static_cast<double>(i % 5)});
  }
  return options;
}

StreamOptions blocks(std::uint64_t shards) {
  return {.global_batch = 4096,
          .seed = 17,
          .order = ratoon::SampleOrder::kBlocks,
          .window_shards = 64,
          .sources = {{.name = "shards", .shards = std::vector<std::uint64_t>(shards, 10'000)}}};
}

// Each call uses another epoch, so that no cached result helps: at the start, the middle, the end.
void seek_cold(benchmark::State& state, const StreamOptions& options) {
  const Stream stream(options);
  const StreamReader reader = stream.reader();
  const std::uint64_t samples = stream.epoch_slots();
  const std::uint64_t places[] = {0, samples / 2, samples - 1};
  const std::uint64_t place = places[state.range(1)];
  std::uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(reader.at((epoch++ % 1024) * samples + place));
}

void seek(benchmark::State& state) {
  seek_cold(state, shuffled(static_cast<std::uint64_t>(state.range(0))));
}

void seek_in_blocks(benchmark::State& state) {
  const Stream stream(blocks(static_cast<std::uint64_t>(state.range(0))));
  const StreamReader reader = stream.reader();
  std::uint64_t number = 12345;
  for (auto _ : state)
    benchmark::DoNotOptimize(reader.at(number = (number * 6364136223846793005 + 1) % stream.epoch_slots()));
}

void epoch_of_blocks(benchmark::State& state) {
  seek_cold(state, blocks(static_cast<std::uint64_t>(state.range(0))));
}

void seek_mixture_cold(benchmark::State& state) {
  const Stream stream(mixture(static_cast<std::size_t>(state.range(0))));
  const StreamReader reader = stream.reader();
  std::uint64_t block = 0;
  for (auto _ : state) benchmark::DoNotOptimize(reader.at(++block * kBlock + 40'000));
}

void seek_mixture_cached(benchmark::State& state) {
  const Stream stream(mixture(static_cast<std::size_t>(state.range(0))));
  const StreamReader reader = stream.reader();
  std::uint64_t number = 12345;
  for (auto _ : state)
    benchmark::DoNotOptimize(reader.at(1000 * kBlock + (number = (number * 25173 + 13849) % kBlock)));
}

// Consecutive slots, across the ends of epochs too.
void fill(benchmark::State& state, const StreamOptions& options) {
  const Stream stream(options);
  const StreamReader reader = stream.reader();
  std::vector<Slot> slots(4096);
  std::uint64_t first = stream.epoch_slots() / 2;
  for (auto _ : state) {
    reader.fill(first, slots);
    benchmark::DoNotOptimize(slots.data());
    first += slots.size();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(slots.size()));
}

void fill_shuffled(benchmark::State& state) {
  fill(state, shuffled(static_cast<std::uint64_t>(state.range(0))));
}
void fill_mixture(benchmark::State& state) {
  fill(state, mixture(static_cast<std::size_t>(state.range(0))));
}
void fill_blocks(benchmark::State& state) {
  fill(state, blocks(static_cast<std::uint64_t>(state.range(0))));
}

void permutation_fill(benchmark::State& state) {
  const ratoon::Permutation order(static_cast<std::uint64_t>(state.range(0)), 17);
  std::vector<std::uint64_t> values(4096);
  for (auto _ : state) {
    order.fill(0, values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

// The time of rank 0 of 8 for a step of 4,096 samples: its share, and the digest of all samples.
void take(benchmark::State& state) {
  Stream stream(shuffled(static_cast<std::uint64_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(stream.take(0, 8));
  state.SetItemsProcessed(state.iterations() * 4096);
}

void load(benchmark::State& state) {
  const auto options = mixture(static_cast<std::size_t>(state.range(0)));
  Stream stream(options);
  stream.begin_at(1'000'000'000'000, 1000);
  const std::string saved = stream.save_state();
  for (auto _ : state) {
    stream.load_state(saved);
    benchmark::DoNotOptimize(stream.at(stream.cursor()));
  }
  state.counters["state_bytes"] = static_cast<double>(saved.size());
  state.counters["state_bytes_limit"] = 1024 + 24 * static_cast<double>(state.range(0));
}

// Bytes that a stream holds after a batch, measured at the allocator; the mean of several.
template <class Options>
void memory(benchmark::State& state, Options options, double shards, std::size_t streams) {
  const auto used = [] { return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd); };
  for (auto _ : state) {
    std::vector<std::unique_ptr<Stream>> held(streams);
    const double before = used();
    for (auto& stream : held) {
      stream = std::make_unique<Stream>(options(static_cast<std::uint64_t>(state.range(0))));
      static_cast<void>(stream->take(0, 1));
    }
    state.counters["bytes"] = (used() - before) / static_cast<double>(streams);
    state.counters["bytes_limit"] = (1 << 20) + 16 * shards;
  }
}

void memory_shuffled(benchmark::State& state) {
  memory(state, shuffled, 0, 100);
}
void memory_mixture(benchmark::State& state) {
  memory(state, mixture, 0, 10);
}
void memory_blocks(benchmark::State& state) {
  memory(state, blocks, static_cast<double>(state.range(0)), 1);
}

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kBillion = 1000 * kMillion;
constexpr std::int64_t kTrillion = 1000 * kBillion;

BENCHMARK(seek)->ArgsProduct({{kMillion, kBillion, kTrillion}, {0, 1, 2}});
BENCHMARK(seek_in_blocks)->Arg(1000)->Arg(100'000);
BENCHMARK(epoch_of_blocks)->ArgsProduct({{100'000}, {1}})->Unit(benchmark::kMicrosecond);
BENCHMARK(seek_mixture_cold)->Arg(2)->Arg(16)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(seek_mixture_cached)->Arg(2)->Arg(16)->Arg(1000);
BENCHMARK(permutation_fill)->Arg(10'000)->Arg(65536)->Arg(kBillion);
BENCHMARK(fill_shuffled)->Arg(65536)->Arg(kMillion)->Arg(kBillion)->Arg(kTrillion);
BENCHMARK(fill_mixture)->Arg(2)->Arg(16)->Arg(1000);
BENCHMARK(fill_blocks)->Arg(100'000);
BENCHMARK(take)->Arg(kMillion)->Arg(kTrillion)->Unit(benchmark::kMicrosecond);
BENCHMARK(load)->Arg(2)->Arg(16)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(memory_shuffled)->Arg(kTrillion)->Iterations(1);
BENCHMARK(memory_mixture)->Arg(16)->Arg(1000)->Iterations(1);
BENCHMARK(memory_blocks)->Arg(100'000)->Arg(kMillion)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
