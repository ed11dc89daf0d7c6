#include "agent/src/torch/gradient_buckets.h"

#include <algorithm>
#include <string>

#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::int64_t kPieceBytes = 8 << 20;
constexpr std::int64_t kWishBits = 32;
// Sums of ones must stay exact, so control words are in this type whatever the gradients are in.
constexpr at::ScalarType kControlType = at::kFloat;

}  // namespace

GradientBuckets::GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more)
    : parameters_(std::move(parameters)), more_(more) {
  struct Size {
    at::ScalarType type;
    std::int64_t elements;
  };
  std::vector<Size> sizes;
  const auto last_takes = [&sizes](at::ScalarType type, std::int64_t elements) {
    const auto element_bytes = static_cast<std::int64_t>(c10::elementSize(type));
    return !sizes.empty() && sizes.back().type == type &&
           (sizes.back().elements + elements) * element_bytes <= kPieceBytes;
  };
  for (const at::Tensor& parameter : parameters_) {
    if (!last_takes(parameter.scalar_type(), parameter.numel()))
      sizes.push_back({parameter.scalar_type(), 0});
    places_.push_back({sizes.size() - 1, sizes.back().elements});
    sizes.back().elements += parameter.numel();
  }
  const auto control_numbers = kWishBits + static_cast<std::int64_t>(parameters_.size() + more_);
  if (sizes.empty() || sizes.back().type != kControlType) sizes.push_back({kControlType, 0});
  sizes.back().elements += control_numbers;
  for (const Size& size : sizes) pieces_.push_back(at::zeros({size.elements}, at::TensorOptions(size.type)));
  control_ = pieces_.back().narrow(0, sizes.back().elements - control_numbers, control_numbers);
}

bool GradientBuckets::is_for(const std::vector<at::Tensor>& parameters) const {
  return std::ranges::equal(parameters, parameters_,
                            [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); });
}

std::span<float> GradientBuckets::more() {
  return std::span(control_.mutable_data_ptr<float>(), static_cast<std::size_t>(control_.numel()))
      .last(more_);
}

at::Tensor GradientBuckets::view_of(std::size_t parameter) const {
  const at::Tensor& like = parameters_[parameter];
  const auto [piece, offset] = places_[parameter];
  return pieces_[piece].narrow(0, offset, like.numel()).view(like.sizes());
}

void GradientBuckets::begin(std::uint32_t wishes) {
  auto* const control = control_.mutable_data_ptr<float>();
  for (std::int64_t bit = 0; bit < kWishBits; ++bit) control[bit] = (wishes >> bit & 1U) != 0 ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    control[kWishBits + static_cast<std::int64_t>(i)] = parameters_[i].grad().defined() ? 1.0F : 0.0F;
}

void GradientBuckets::fill(std::size_t piece) {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (places_[i].piece != piece) continue;
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) {
      view_of(i).zero_();
    } else if (gradient.layout() != at::kStrided) {
      throw Failure(
          static_cast<int>(ExitCode::kConfiguration),
          "the gradient of parameter " + std::to_string(i) +
              " is sparse, and only dense ones can be averaged: use an Embedding with sparse(false)");
    } else {
      view_of(i).copy_(gradient);
    }
  }
}

void GradientBuckets::take_mean(std::size_t parameter, std::uint32_t world_size) {
  at::Tensor& gradient = parameters_[parameter].mutable_grad();
  if (!gradient.defined()) gradient = at::empty_like(parameters_[parameter]);
  const auto ranks = static_cast<std::int64_t>(world_size);
  if (gradient.is_cpu())
    at::div_out(gradient, view_of(parameter), at::scalar_tensor(ranks, at::kFloat));
  else
    gradient.copy_(view_of(parameter).div_(ranks));
}

void GradientBuckets::spread(std::size_t piece, std::uint32_t world_size) {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (places_[i].piece == piece && parameters_[i].grad().defined()) take_mean(i, world_size);
}

std::uint32_t GradientBuckets::finish(std::uint32_t world_size) {
  const c10::AutoGradMode no_grad(false);
  const auto* const control = control_.const_data_ptr<float>();
  std::uint32_t wishes = 0;
  for (std::int64_t bit = 0; bit < kWishBits; ++bit) {
    if (control[bit] > 0.5F) wishes |= std::uint32_t{1} << bit;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool has_any_rank = control[kWishBits + static_cast<std::int64_t>(i)] > 0.5F;
    if (has_any_rank && !parameters_[i].grad().defined()) take_mean(i, world_size);
  }
  return wishes;
}

}  // namespace ratoon
