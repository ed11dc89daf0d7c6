// The time to load a checkpoint from a disk, verified, into existing memory: beside memcpy, and beside the
// disk read in order past the page cache. Each figure is measured in turn with its limit.
//
// RATOON_BENCH_FOLDER (the place of the files), RATOON_BENCH_MIB (of state, 1024).
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "tests/support/model_shapes.h"

namespace {

using ratoon::Rank;
using ratoon::TensorView;
using namespace ratoon::checkpoint;

constexpr std::size_t kTensors = 98;
constexpr std::size_t kDirectBytes = 16 << 20;

std::uint64_t state_bytes() {
  const char* const text = std::getenv("RATOON_BENCH_MIB");
  return (text == nullptr ? 1024 : std::strtoull(text, nullptr, 10)) << 20;
}

std::filesystem::path folder() {
  const char* const text = std::getenv("RATOON_BENCH_FOLDER");
  const std::filesystem::path above =
      text == nullptr ? std::filesystem::temp_directory_path() : std::filesystem::path(text);
  return above / "ratoon-bench-load";
}

double seconds_of(const std::function<void()>& act) {
  const auto began = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::unique_ptr<std::byte[]> touched(std::uint64_t bytes, int value) {
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memset(memory.get(), value, bytes);
  return memory;
}

// A run's folder with one checkpoint, which is removed with the object.
class SavedState {
 public:
  explicit SavedState(const std::vector<std::vector<TensorSpec>>& ranks,
                      std::filesystem::path where = folder())
      : store(RunStore::open(where).value()), where_(std::move(where)) {
    std::uint64_t most = 0;
    for (const auto& specs : ranks) most = std::max(most, bytes_of(specs));
    const auto memory = touched(most, 7);
    for (std::uint64_t i = 0; i < most; i += 509) memory[i] = static_cast<std::byte>(i >> 9);
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      std::vector<TensorView> views;
      std::uint64_t at = 0;
      for (const auto& spec : ranks[rank]) {
        const std::uint64_t bytes = count_bytes(spec.type, spec.shape).value();
        views.push_back({spec.name, spec.type, spec.shape, std::span(memory.get() + at, bytes), spec.box});
        at += bytes;
      }
      if (auto written = store.write_pack(kId, Rank(rank), views); !written) std::abort();
      paths.push_back(where_ / pack_path(kId, Rank(rank)));
    }
    commit();
  }
  ~SavedState() { std::filesystem::remove_all(where_); }

  // Commits as rank 0 does: all votes and headers are read, the cover is checked, the manifest is written.
  void commit() {
    const auto entry = store.try_commit(kId, static_cast<std::uint32_t>(paths.size())).value().value();
    point = {.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  void take_back() const { std::filesystem::remove(where_ / manifest_path(kId)); }

  static std::uint64_t bytes_of(const std::vector<TensorSpec>& specs) {
    std::uint64_t bytes = 0;
    for (const auto& spec : specs) bytes += count_bytes(spec.type, spec.shape).value();
    return bytes;
  }

  CheckpointReader::LoadedBytes load(std::uint32_t rank, const std::vector<TensorSpec>& wanted,
                                     std::byte* into) const {
    std::vector<std::span<std::byte>> places;
    for (const auto& spec : wanted) {
      places.emplace_back(into, count_bytes(spec.type, spec.shape).value());
      into += places.back().size();
    }
    return store.read(point, Rank(rank)).value().load(wanted, places).value();
  }

  void forget() const {
    for (const auto& path : paths) {
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  }

  RunStore store;
  ratoon::ResumePoint point;
  std::vector<std::filesystem::path> paths;

 private:
  static constexpr CheckpointId kId{.attempt = ratoon::Attempt(1), .step = ratoon::Step(1)};
  std::filesystem::path where_;
};

std::vector<TensorSpec> equal_tensors() {
  std::vector<TensorSpec> specs;
  const std::uint64_t each = state_bytes() / kTensors / 4;
  for (std::size_t i = 0; i < kTensors; ++i)
    specs.push_back({"layer." + std::to_string(i), ratoon::ElementType::kFloat32, {each}});
  return specs;
}

void warm_load_beside_memcpy(benchmark::State& state) {
  const auto specs = equal_tensors();
  const SavedState saved({specs});
  const std::uint64_t bytes = SavedState::bytes_of(specs);
  const auto into = touched(bytes, 1);
  const auto from = touched(bytes, 2);
  saved.load(0, specs, into.get());
  double copying = 0;
  double loading = 0;
  for (auto _ : state) {
    copying += seconds_of([&] { std::memcpy(into.get(), from.get(), bytes); });
    benchmark::ClobberMemory();
    const double load = seconds_of([&] { saved.load(0, specs, into.get()); });
    loading += load;
    state.SetIterationTime(load);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["share_of_memcpy"] = copying / loading;
}

void read_directly(const std::filesystem::path& path, std::byte* buffer) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT);
  if (fd < 0) std::abort();
  while (::read(fd, buffer, kDirectBytes) > 0) {
  }
  ::close(fd);
}

void cold_load_beside_the_disk(benchmark::State& state) {
  const auto specs = equal_tensors();
  const SavedState saved({specs});
  const std::uint64_t bytes = SavedState::bytes_of(specs);
  const auto into = touched(bytes, 1);
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte*>(std::aligned_alloc(4096, kDirectBytes)), &std::free);
  double reading = 0;
  double loading = 0;
  for (auto _ : state) {
    saved.forget();
    reading += seconds_of([&] { read_directly(saved.paths.front(), buffer.get()); });
    saved.forget();
    const double load = seconds_of([&] { saved.load(0, specs, into.get()); });
    loading += load;
    state.SetIterationTime(load);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["share_of_disk"] = reading / loading;
}

// Rows of a model that some ranks saved, loaded by another number of ranks, one after the other.
void reshard(benchmark::State& state) {
  const auto model = ratoon::test::transformer(4, 1024, 2752, 8000, ratoon::ElementType::kBfloat16);
  const auto writers = static_cast<std::uint64_t>(state.range(0));
  const auto readers = static_cast<std::uint64_t>(state.range(1));
  std::vector<std::vector<TensorSpec>> ranks;
  for (std::uint64_t rank = 0; rank < writers; ++rank)
    ranks.push_back(ratoon::test::shard(model, rank, writers));
  const SavedState saved(ranks);
  const auto into = touched(SavedState::bytes_of(model), 1);
  double read = 0;
  double wanted = 0;
  for (auto _ : state) {
    for (std::uint64_t rank = 0; rank < readers; ++rank) {
      const auto amount =
          saved.load(static_cast<std::uint32_t>(rank), ratoon::test::shard(model, rank, readers), into.get());
      read += static_cast<double>(amount.bytes_read);
      wanted += static_cast<double>(amount.bytes_wanted);
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(wanted));
  state.counters["read_over_wanted"] = read / wanted;
}

// 100,000 tensors, each whole in one of 64 packs and shared: rank 0's work until there is a manifest, then
// all headers, the index, one rank's plan and its share. The packs are in memory: hundreds of syncs are not
// part of planning, and on a busy disk they take minutes.
void manifest_and_plan(benchmark::State& state) {
  std::vector<std::vector<TensorSpec>> ranks(64);
  for (std::size_t i = 0; i < 100'000; ++i) {
    ranks[i % 64].push_back({"model.layers." + std::to_string(i) + ".weight",
                             ratoon::ElementType::kFloat32,
                             {4},
                             ratoon::TensorBox{{0}, {4}}});
  }
  SavedState saved(ranks, "/dev/shm/ratoon-bench-load");
  const auto into = touched(SavedState::bytes_of(ranks[3]), 1);
  double committing = 0;
  double loading = 0;
  for (auto _ : state) {
    saved.take_back();
    const double commit = seconds_of([&] { saved.commit(); });
    const double load = seconds_of([&] { saved.load(7, ranks[3], into.get()); });
    committing += commit;
    loading += load;
    state.SetIterationTime(commit + load);
  }
  const auto turns = static_cast<double>(state.iterations());
  state.counters["manifest_seconds"] = committing / turns;
  state.counters["plan_seconds"] = loading / turns;
}

BENCHMARK(warm_load_beside_memcpy)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(cold_load_beside_the_disk)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(reshard)->Args({4, 3})->Args({8, 5})->UseRealTime()->Iterations(2)->Unit(benchmark::kMillisecond);
BENCHMARK(manifest_and_plan)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
