// A run's folder with all that the format can hold: tensors of every type, of no dimension and of no element,
// cut among three ranks, held twice, and of each rank's own; three checkpoints of two attempts.
// tests/unit/agent/checkpoint/golden holds what format 2 made of it.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "tests/support/sharded_checkpoint.h"

namespace ratoon::test {

constexpr std::uint32_t kSampleRanks = 3;

// Oldest first, as they are saved.
inline std::vector<checkpoint::CheckpointId> sample_checkpoints() {
  return {{.attempt = Attempt(1), .step = Step(10)},
          {.attempt = Attempt(1), .step = Step(900)},
          {.attempt = Attempt(2), .step = Step(20)}};
}

inline WholeTensor sample_tensor(std::string name, ElementType type, TensorShape shape, std::uint64_t seed) {
  std::uint64_t count = size_of(type);
  for (const std::uint64_t size : shape) count *= size;
  std::string bytes = any_bytes(count, seed);
  if (type == ElementType::kBool) {
    for (char& byte : bytes) byte = static_cast<char>(byte & 1);
  }
  return {.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = std::move(bytes)};
}

struct SamplePart {
  TensorShape begin;
  TensorShape shape;
  std::vector<std::uint32_t> ranks;  // who holds it: copies where there are several
};

struct SharedSample {
  WholeTensor tensor;
  std::vector<SamplePart> parts;
};

inline std::vector<SharedSample> shared_samples(const checkpoint::CheckpointId& id) {
  using enum ElementType;
  const std::uint64_t seed = id.attempt.value() * 1000 + id.step.value();
  return {{sample_tensor("net.rows", kFloat32, {9, 2000}, seed + 1),
           {{{0, 0}, {4, 2000}, {0}}, {{4, 0}, {4, 2000}, {1}}, {{8, 0}, {1, 2000}, {2}}}},
          {sample_tensor("net.columns", kBfloat16, {6, 10, 2}, seed + 2),
           {{{0, 0, 0}, {6, 3, 2}, {2}}, {{0, 3, 0}, {6, 3, 2}, {0}}, {{0, 6, 0}, {6, 4, 2}, {1}}}},
          {sample_tensor("net.copied", kInt64, {5}, seed + 3), {{{0}, {5}, {0, 1, 2}}}},
          {sample_tensor("net.half copied", kInt8, {7}, seed + 4), {{{0}, {3}, {0, 1}}, {{3}, {4}, {2}}}},
          {sample_tensor("net.number", kFloat64, {}, seed + 5), {{{}, {}, {0, 2}}}},
          {sample_tensor("net.nothing", kFloat16, {0, 4}, seed + 6), {{{0, 0}, {0, 4}, {1}}}}};
}

// Each rank has other tensors, under the same names.
inline std::vector<WholeTensor> own_samples(const checkpoint::CheckpointId& id, std::uint32_t rank) {
  using enum ElementType;
  std::uint64_t seed = id.attempt.value() * 100000 + id.step.value() * 10 + rank;
  std::vector<WholeTensor> tensors;
  for (const ElementType type :
       {kUint8, kInt8, kUint16, kInt16, kUint32, kInt32, kUint64, kInt64, kFloat16, kFloat32, kFloat64, kBool,
        kBfloat16, kFloat8E4m3Fn, kFloat8E5m2, kComplex64}) {
    const std::string name = "of " + std::string(checkpoint::safetensors_name(type));
    tensors.push_back(sample_tensor(name, type, {3, 1, 7}, ++seed));
    tensors.push_back(sample_tensor(name + ".number", type, {}, ++seed));
    tensors.push_back(sample_tensor(name + ".nothing", type, {0, 3}, ++seed));
  }
  // Each length class of XXH3, and its borders.
  for (const std::uint64_t size : {1, 3, 4, 8, 9, 16, 17, 64, 96, 128, 129, 240, 241, 1024, 1025, 2500})
    tensors.push_back(sample_tensor("length." + std::to_string(size), kUint8, {size}, ++seed));
  tensors.push_back(sample_tensor("\"\\/\b\f\n\t\x01 \u00e9\u20ac\U0001f331", kUint8, {13}, ++seed));
  return tensors;
}

inline std::vector<TensorView> sample_views(const checkpoint::CheckpointId& id, std::uint32_t rank,
                                            std::vector<std::string>& kept) {
  std::vector<TensorView> views;
  kept.clear();
  kept.reserve(1000);  // views point into it
  for (const auto& [tensor, parts] : shared_samples(id)) {
    for (const SamplePart& part : parts) {
      if (std::ranges::find(part.ranks, rank) == part.ranks.end()) continue;
      kept.push_back(bytes_of_box(tensor, part.begin, part.shape));
      views.push_back({.name = tensor.name,
                       .type = tensor.type,
                       .shape = part.shape,
                       .bytes = bytes_of(kept.back()),
                       .box = TensorBox{part.begin, tensor.shape}});
    }
  }
  for (WholeTensor& tensor : own_samples(id, rank)) {
    kept.push_back(std::move(tensor.bytes));
    views.push_back(
        {.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .bytes = bytes_of(kept.back())});
  }
  return views;
}

inline Result<void> save_sample_run(const std::filesystem::path& folder) {
  const auto run = checkpoint::RunStore::open(folder);
  if (!run) return run.error();
  for (const auto& id : sample_checkpoints()) {
    for (std::uint32_t rank = 0; rank < kSampleRanks; ++rank) {
      std::vector<std::string> kept;
      const auto views = sample_views(id, rank, kept);
      if (auto written = run->write_pack(id, Rank(rank), views); !written) return written;
    }
    if (auto committed = run->try_commit(id, kSampleRanks); !committed) return committed.error();
  }
  return {};
}

}  // namespace ratoon::test
