#include <optional>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "agent/src/torch/collectives/gradients/gradient_buckets.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {
namespace {

using at::Tensor;

const std::vector<std::vector<std::int64_t>> kShapes = {{1}, {257, 3},   {1024, 1024},
                                                        {},  {5, 7, 11}, {400'000}};

struct Rank {
  std::vector<Tensor> parameters{};
  std::optional<GradientBuckets> buckets{};
};

Rank make_rank(const std::vector<Tensor>& gradients, const GradientBuckets::Layout& layout) {
  Rank rank;
  for (const Tensor& gradient : gradients) {
    rank.parameters.push_back(
        at::zeros(gradient.sizes(), gradient.options().device(layout.device)).set_requires_grad(true));
    rank.parameters.back().mutable_grad() = gradient.to(layout.device);
  }
  rank.buckets.emplace(rank.parameters, 0, layout);
  return rank;
}

// The gradients of the first rank after a step of all ranks, whose sums are made here in their order.
std::vector<Tensor> average(const std::vector<std::vector<Tensor>>& of_ranks,
                            std::optional<std::uint64_t> samples, const GradientBuckets::Layout& layout) {
  std::vector<Rank> ranks;
  for (const auto& gradients : of_ranks) ranks.push_back(make_rank(gradients, layout));
  for (Rank& rank : ranks) {
    rank.buckets->begin(static_cast<std::uint32_t>(ranks.size()), samples);
    for (std::size_t piece = 0; piece < rank.buckets->pieces().size(); ++piece) rank.buckets->fill(piece);
    rank.buckets->write_control_word(0);
  }
  auto& first = ranks.front();
  for (std::size_t piece = 0; piece < first.buckets->pieces().size(); ++piece)
    for (std::size_t other = 1; other < ranks.size(); ++other)
      first.buckets->pieces()[piece].add_(ranks[other].buckets->pieces()[piece]);
  static_cast<void>(first.buckets->finish());
  std::vector<Tensor> means;
  for (const Tensor& parameter : first.parameters) means.push_back(parameter.grad().cpu());
  return means;
}

}  // namespace

int bits() {
  Rows rows("bits");
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const std::size_t count : {1, 3}) {
      std::vector<std::vector<Tensor>> gradients(count);
      for (auto& of_rank : gradients)
        for (const auto& shape : kShapes) of_rank.push_back(at::randn(shape).mul(100).to(type));
      for (const std::optional<std::uint64_t> samples : {std::optional<std::uint64_t>(), {37}}) {
        GradientBuckets::Layout layout{.bucket_bytes = 1 << 20};
        const auto on_cpu = average(gradients, samples, layout);
        layout.device = gpu();
        const auto on_gpu = average(gradients, samples, layout);
        bool are_equal = true;
        for (std::size_t i = 0; i < on_cpu.size(); ++i)
          are_equal = are_equal && at::equal(on_cpu[i], on_gpu[i]);
        rows.expect(are_equal, std::string("means of ") + c10::toString(type) + " of " +
                                   std::to_string(count) + (samples ? " ranks, by samples," : " ranks") +
                                   " have the bits of the CPU");
      }
    }
  }
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
