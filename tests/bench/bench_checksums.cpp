// The cost of checksums beside the cost of copying the same bytes.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/core/crc32c.h"
#include "base/core/xxh3.h"

namespace {

std::vector<std::byte> bytes_for(const benchmark::State& state) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131);
  return bytes;
}

template <class Work>
void measure(benchmark::State& state, Work work) {
  const auto bytes = bytes_for(state);
  for (auto _ : state) benchmark::DoNotOptimize(work(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void crc32c_hardware(benchmark::State& state) {
  measure(state, [](const auto& bytes) { return ratoon::crc32c(bytes); });
}

void crc32c_portable(benchmark::State& state) {
  measure(state, [](const auto& bytes) { return ratoon::crc32c_ways::portable(bytes, 0); });
}

void xxh3_128(benchmark::State& state) {
  measure(state, [](const auto& bytes) { return ratoon::xxh3_128(bytes).low; });
}

void memory_copy(benchmark::State& state) {
  std::vector<std::byte> target(static_cast<std::size_t>(state.range(0)));
  measure(state, [&](const auto& bytes) {
    std::memcpy(target.data(), bytes.data(), bytes.size());
    benchmark::ClobberMemory();
    return target.data();
  });
}

BENCHMARK(memory_copy)->Arg(4 << 10)->Arg(4 << 20);
BENCHMARK(crc32c_hardware)->Arg(4 << 10)->Arg(4 << 20);
BENCHMARK(crc32c_portable)->Arg(4 << 10)->Arg(4 << 20);
BENCHMARK(xxh3_128)->Arg(4 << 10)->Arg(4 << 20);

}  // namespace

BENCHMARK_MAIN();
