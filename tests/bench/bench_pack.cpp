// The cost of the headers, the cover and the read plans of a checkpoint, without its bytes. Times are
// measured on one core.
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "agent/src/checkpoint/pack/cover.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/read_plan.h"
#include "tests/support/model_shapes.h"

namespace {

using ratoon::ElementType;
using ratoon::Hash128;
using ratoon::checkpoint::PackLayout;
using ratoon::checkpoint::PartIndex;
using ratoon::checkpoint::TensorSpec;

constexpr std::uint64_t kRanks = 64;

// Names and shapes as models have them, every third a matrix.
std::vector<TensorSpec> tensors(std::int64_t count) {
  std::vector<TensorSpec> specs;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t rows = 64 * static_cast<std::uint64_t>(1 + i % 7);
    specs.push_back({"model.layers." + std::to_string(i) + ".mlp.weight", ElementType::kFloat32, {rows}});
    if (i % 3 == 0) specs.back().shape.push_back(256);
  }
  return specs;
}

// The layout of replicated state on a shared volume: each tensor whole, in one of the packs.
std::vector<PackLayout> striped_layouts(const std::vector<TensorSpec>& specs) {
  std::vector<std::vector<TensorSpec>> packs(kRanks);
  for (std::size_t i = 0; i < specs.size(); ++i) packs[i % kRanks].push_back(specs[i]);
  std::vector<PackLayout> layouts;
  for (const auto& pack : packs) layouts.push_back(ratoon::checkpoint::plan_pack(pack).value());
  return layouts;
}

std::string header_of(const PackLayout& layout) {
  const std::vector<std::uint32_t> crcs(layout.block_count(), 0x89abcdef);
  const std::vector<Hash128> hashes(layout.tensors.size(), Hash128{0x0123456789abcdef, 42});
  return encode_header(layout, crcs, hashes);
}

void plan_layout(benchmark::State& state) {
  const auto specs = tensors(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ratoon::checkpoint::plan_pack(specs));
}

void encode(benchmark::State& state) {
  const PackLayout layout = ratoon::checkpoint::plan_pack(tensors(state.range(0))).value();
  for (auto _ : state) benchmark::DoNotOptimize(header_of(layout));
  state.counters["header_bytes"] = static_cast<double>(layout.header_bytes);
}

void decode(benchmark::State& state) {
  const PackLayout layout = ratoon::checkpoint::plan_pack(tensors(state.range(0))).value();
  const std::string header = header_of(layout);
  for (auto _ : state)
    benchmark::DoNotOptimize(ratoon::checkpoint::decode_header(header, layout.file_bytes()));
}

// range(0) tensors, each in 64 parts or each in one of 64 packs.
struct Written {
  std::vector<TensorSpec> specs;
  std::vector<PackLayout> layouts;

  Written(std::int64_t count, bool is_sharded)
      : specs(tensors(count)),
        layouts(is_sharded ? ratoon::test::sharded_layouts(specs, kRanks) : striped_layouts(specs)) {}
};

void index_and_cover(benchmark::State& state) {
  const Written written(state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    const PartIndex index = ratoon::test::index_of(written.layouts);
    if (!check_cover(index)) state.SkipWithError("the packs do not cover their tensors");
  }
}

// The work of one rank at a start: the index, and the plan of its own reads; 48 ranks follow a world of 64.
void plan_of_a_rank(benchmark::State& state) {
  const Written written(state.range(0), state.range(1) != 0);
  const auto wanted = state.range(1) != 0 ? ratoon::test::shard(written.specs, 17, 48) : written.specs;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        ratoon::checkpoint::plan_reads(ratoon::test::index_of(written.layouts), wanted, 17));
}

// The plans of 64 ranks, one after the other, with one index. Each rank wants its stripe of all tensors.
void plans_of_all_ranks(benchmark::State& state) {
  const Written written(state.range(0), false);
  std::vector<std::vector<TensorSpec>> wanted(kRanks);
  for (std::size_t i = 0; i < written.specs.size(); ++i) wanted[i * 7 % kRanks].push_back(written.specs[i]);
  for (auto _ : state) {
    const PartIndex index = ratoon::test::index_of(written.layouts);
    if (!check_cover(index)) state.SkipWithError("the packs do not cover their tensors");
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      benchmark::DoNotOptimize(plan_reads(index, wanted[rank], rank));
  }
}

// A model with 7 billion weights and their moments, rows divided over ranks.
void reshard(benchmark::State& state) {
  const auto model = ratoon::test::transformer(32, 4096, 11008, 32000, ElementType::kBfloat16);
  const auto readers = static_cast<std::uint64_t>(state.range(1));
  const auto layouts = ratoon::test::sharded_layouts(model, static_cast<std::uint64_t>(state.range(0)));
  double read = 0;
  double wanted = 0;
  for (auto _ : state) {
    read = wanted = 0;
    const PartIndex index = ratoon::test::index_of(layouts);
    for (std::uint32_t rank = 0; rank < readers; ++rank) {
      const auto plan = plan_reads(index, ratoon::test::shard(model, rank, readers), rank);
      read += static_cast<double>(plan->bytes_read);
      wanted += static_cast<double>(plan->bytes_wanted);
    }
  }
  state.counters["read_over_wanted"] = read / wanted;
}

BENCHMARK(plan_layout)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(encode)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(decode)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(index_and_cover)->Args({100'000, 0})->Args({10'000, 1})->Unit(benchmark::kMillisecond);
BENCHMARK(plan_of_a_rank)->Args({100'000, 0})->Args({10'000, 1})->Unit(benchmark::kMillisecond);
BENCHMARK(plans_of_all_ranks)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(reshard)->Args({4, 3})->Args({8, 5})->Args({64, 48})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
