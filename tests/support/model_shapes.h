// The tensors of real models with their optimizer, and how ranks divide them: layouts alone, no bytes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "agent/src/checkpoint/pack/part_index.h"

namespace ratoon::test {

using checkpoint::PackLayout;
using checkpoint::TensorSpec;

// A transformer's weights, and AdamW's two moments of each.
inline std::vector<TensorSpec> transformer(std::uint64_t layers, std::uint64_t width, std::uint64_t inner,
                                           std::uint64_t words, ElementType weights) {
  std::vector<TensorSpec> specs;
  const auto add = [&](const std::string& name, const TensorShape& shape) {
    specs.push_back({"model." + name, weights, shape});
    specs.push_back({"optimizer.exp_avg." + name, ElementType::kFloat32, shape});
    specs.push_back({"optimizer.exp_avg_sq." + name, ElementType::kFloat32, shape});
  };
  add("embedding.weight", {words, width});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    add(layer + "attention.qkv.weight", {3 * width, width});
    add(layer + "attention.out.weight", {width, width});
    add(layer + "mlp.up.weight", {inner, width});
    add(layer + "mlp.down.weight", {width, inner});
    add(layer + "norm_1.weight", {width});
    add(layer + "norm_2.weight", {width});
  }
  return specs;
}

// Rank r's rows of a tensor, as torch.chunk divides them: the last ranks may have fewer, or none.
inline TensorSpec rows_of(const TensorSpec& whole, std::uint64_t rank, std::uint64_t ranks) {
  const std::uint64_t rows = whole.shape.front();
  const std::uint64_t each = (rows + ranks - 1) / ranks;
  const std::uint64_t begin = std::min(rows, rank * each);
  TensorSpec part = whole;
  part.shape.front() = std::min(rows, begin + each) - begin;
  part.box = TensorBox{TensorShape(whole.shape.size()), whole.shape};
  part.box->begin.front() = begin;
  return part;
}

inline std::vector<TensorSpec> shard(const std::vector<TensorSpec>& whole, std::uint64_t rank,
                                     std::uint64_t ranks) {
  std::vector<TensorSpec> parts;
  for (const auto& spec : whole) parts.push_back(rows_of(spec, rank, ranks));
  return parts;
}

inline std::vector<PackLayout> sharded_layouts(const std::vector<TensorSpec>& whole, std::uint64_t ranks) {
  std::vector<PackLayout> layouts;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    layouts.push_back(plan_pack(shard(whole, rank, ranks)).value());
  return layouts;
}

inline checkpoint::PartIndex index_of(const std::vector<PackLayout>& layouts) {
  std::vector<checkpoint::IndexedPack> packs;
  for (const auto& layout : layouts) packs.push_back({"pack", &layout});
  return checkpoint::PartIndex::build(std::move(packs)).value();
}

}  // namespace ratoon::test
