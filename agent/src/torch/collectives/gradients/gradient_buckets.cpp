#include "agent/src/torch/collectives/gradients/gradient_buckets.h"

#include <algorithm>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/set.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/util/strides.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

// The control word has one number for each request bit, a flag that says whether the caller gave a number of
// samples, and the digits of this number of samples. A flag for each parameter, a number for each piece and
// the caller's numbers follow the control word.
constexpr std::int64_t kRequestBits = 32;
constexpr std::int64_t kSampleCountDigits = 6;
// A digit of the number of samples has only 8 bits, so that a float holds the exact sum of the digits of
// 65,536 ranks (the maximum).
constexpr std::uint64_t kBitsPerDigit = 8;
constexpr std::int64_t kHasSampleCount = kRequestBits;
constexpr std::int64_t kFirstSampleCountDigit = kHasSampleCount + 1;
constexpr std::int64_t kFirstParameterFlag = kFirstSampleCountDigit + kSampleCountDigits;
// The control word consists of floats, even if the gradients have another type, because the sums of its
// numbers over all ranks must be exact.
constexpr at::ScalarType kControlType = at::kFloat;

[[noreturn]] void fail(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

// Returns, for each parameter, whether it is the last one of its module.
std::vector<bool> is_last_of_module(std::size_t parameters, const std::vector<std::size_t>& module_sizes) {
  std::vector<bool> is_end(parameters);
  std::size_t end = 0;
  for (const std::size_t size : module_sizes) {
    end += size;
    if (size > 0) is_end[end - 1] = true;
  }
  return is_end;
}

}  // namespace

GradientBuckets::GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more, const Layout& layout)
    : parameters_(std::move(parameters)),
      layout_(layout),
      positions_(parameters_.size()),
      is_filled_(parameters_.size()),
      extra_numbers_count_(more) {
  lay_out_pieces();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    sum_views_.push_back(view_of(i, pieces_[positions_[i].piece]));
    mean_views_.push_back(view_of(i, means_[positions_[i].piece]));
  }
}

// Create the gradient outside of autograd, because Optimizer::zero_grad() calls detach_(), which fails for a
// view that autograd tracks.
at::Tensor GradientBuckets::view_of(std::size_t parameter, const at::Tensor& piece) const {
  const auto shape = parameters_[parameter].sizes();
  return at::empty({0}, piece.options())
      .set_(piece.storage(), positions_[parameter].offset, shape, c10::contiguous_strides(shape));
}

// Gradients in half precision are summed in single precision, unless sum_in_half_precision is set. Half
// precision is too coarse for a rank's share of a mean and for the sums of these shares. Its range is also
// too small for a gradient times a number of samples.
at::ScalarType GradientBuckets::sum_type_of(const at::Tensor& parameter) const {
  const at::ScalarType type = parameter.scalar_type();
  return c10::isReducedFloatingType(type) && !layout_.sum_in_half_precision ? at::kFloat : type;
}

void GradientBuckets::lay_out_pieces() {
  struct Size {
    at::ScalarType sums;
    at::ScalarType means;
    c10::Device device;
    std::int64_t elements;
  };
  std::vector<Size> sizes;
  const auto is_end = is_last_of_module(parameters_.size(), layout_.module_sizes);
  const auto last_takes = [&](at::ScalarType sums, const at::Tensor& parameter) {
    if (sizes.empty() || sizes.back().sums != sums || sizes.back().means != parameter.scalar_type())
      return false;
    const auto elements = static_cast<std::size_t>(sizes.back().elements + parameter.numel());
    return elements * c10::elementSize(sums) <= layout_.bucket_bytes;
  };
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters_[i];
    const at::ScalarType sums = sum_type_of(parameter);
    if (is_end[i] || !last_takes(sums, parameter))
      sizes.push_back({sums, parameter.scalar_type(), layout_.device, 0});
    positions_[i] = {sizes.size() - 1, sizes.back().elements};
    sizes.back().elements += parameter.numel();
  }
  const auto takes_control = [](const Size& size) {
    return size.sums == kControlType && size.means == kControlType && size.device.is_cpu();
  };
  if (sizes.empty() || !takes_control(sizes.back()))
    sizes.push_back({kControlType, kControlType, c10::kCPU, 0});
  const auto control_numbers =
      kFirstParameterFlag +
      static_cast<std::int64_t>(parameters_.size() + sizes.size() + extra_numbers_count_);
  sizes.back().elements += control_numbers;
  for (const auto& [sums, means, device, elements] : sizes) {
    pieces_.push_back(at::zeros({elements}, at::TensorOptions(sums).device(device)));
    divisors_.push_back(at::ones({1}, pieces_.back().options()));
    means_.push_back(means == sums ? pieces_.back()
                                   : at::zeros({elements}, at::TensorOptions(means).device(device)));
  }
  control_word_ = pieces_.back().narrow(0, sizes.back().elements - control_numbers, control_numbers);
}

bool GradientBuckets::fits(const std::vector<at::Tensor>& parameters, const Layout& layout) const {
  const auto is_as_it_was = [&, i = std::size_t{0}](const at::Tensor& a, const at::Tensor& b) mutable {
    const at::Tensor& view = mean_views_[i++];
    return a.is_same(b) && a.sizes() == view.sizes() && a.scalar_type() == view.scalar_type();
  };
  return layout == layout_ && std::ranges::equal(parameters, parameters_, is_as_it_was);
}

std::vector<std::size_t> GradientBuckets::pieces_of_parameters() const {
  std::vector<std::size_t> pieces;
  for (const BucketPosition& place : positions_) pieces.push_back(place.piece);
  return pieces;
}

std::span<float> GradientBuckets::values_per_piece() {
  return std::span(control_word_.mutable_data_ptr<float>(), static_cast<std::size_t>(control_word_.numel()))
      .subspan(static_cast<std::size_t>(kFirstParameterFlag) + parameters_.size(), pieces_.size());
}

std::span<float> GradientBuckets::extra_numbers() {
  return std::span(control_word_.mutable_data_ptr<float>(), static_cast<std::size_t>(control_word_.numel()))
      .last(extra_numbers_count_);
}

void GradientBuckets::begin(std::uint32_t world_size, std::optional<std::uint64_t> samples) {
  world_size_ = world_size;
  sample_count_ = samples;
  is_filled_.assign(parameters_.size(), false);
  const double weight = samples ? static_cast<double>(*samples) : 1.0 / world_size;
  weight_ = at::scalar_tensor(weight, at::kDouble);
}

void GradientBuckets::fill(std::size_t piece) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (positions_[i].piece == piece && !is_filled_[i]) fill_gradient(i);
}

void GradientBuckets::fill_gradient(std::size_t parameter) {
  const c10::AutoGradMode no_grad(false);
  is_filled_[parameter] = true;
  at::Tensor view = sum_views_[parameter];
  const at::Tensor& gradient = parameters_[parameter].grad();
  if (!gradient.defined() || sample_count_ == 0) {  // the mean of no samples is not a number
    view.zero_();
    return;
  }
  if (gradient.layout() != at::kStrided) {
    fail("the gradient of parameter " + std::to_string(parameter) +
         " is sparse, and only dense ones can be averaged: use an Embedding with sparse(false)");
  }
  if (gradient.device() == view.device() && gradient.scalar_type() == view.scalar_type())
    at::mul_out(view, gradient, weight_);
  else
    view.copy_(gradient).mul_(weight_);
}

void GradientBuckets::write_control_word(std::uint32_t requests) {
  auto* const control = control_word_.mutable_data_ptr<float>();
  for (std::int64_t bit = 0; bit < kRequestBits; ++bit)
    control[bit] = (requests >> bit & 1U) != 0 ? 1.0F : 0.0F;
  control[kHasSampleCount] = sample_count_ ? 1.0F : 0.0F;
  std::uint64_t left = sample_count_.value_or(0);
  for (std::int64_t digit = 0; digit < kSampleCountDigits; ++digit, left >>= kBitsPerDigit)
    control[kFirstSampleCountDigit + digit] = static_cast<float>(left & ((1U << kBitsPerDigit) - 1));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    control[kFirstParameterFlag + static_cast<std::int64_t>(i)] =
        parameters_[i].grad().defined() ? 1.0F : 0.0F;
}

double GradientBuckets::sum_of_samples() const {
  const auto* const control = control_word_.const_data_ptr<float>();
  const auto gave = static_cast<std::uint32_t>(control[kHasSampleCount]);
  if (gave == 0) return 1;
  if (gave != world_size_) {
    fail(std::to_string(gave) + " of " + std::to_string(world_size_) +
         " ranks gave average_gradients() the number of their samples: give it on all of them, or on none");
  }
  double sum = 0;
  for (std::int64_t digit = kSampleCountDigits; digit-- > 0;)
    sum = sum * (1U << kBitsPerDigit) + static_cast<double>(control[kFirstSampleCountDigit + digit]);
  return std::max(sum, 1.0);
}

std::uint32_t GradientBuckets::finish() {
  const c10::AutoGradMode no_grad(false);
  const double samples = sum_of_samples();
  const std::int64_t control_numbers = control_word_.numel();
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const bool has_control = piece + 1 == pieces_.size();
    const std::int64_t numbers = pieces_[piece].numel() - (has_control ? control_numbers : 0);
    if (numbers == 0) continue;
    at::Tensor sums = pieces_[piece].narrow(0, 0, numbers);
    // The divisor is a tensor, because some accelerators compute a division by a plain number as a
    // multiplication by its inverse, which rounds twice.
    if (sample_count_) sums.div_(divisors_[piece].fill_(samples));
    if (!means_[piece].is_same(pieces_[piece])) means_[piece].copy_(sums);
  }
  const auto* const control = control_word_.const_data_ptr<float>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (control[kFirstParameterFlag + static_cast<std::int64_t>(i)] < 0.5F)
      continue;  // no rank has this gradient
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (parameters_[i].device() == layout_.device)
      gradient = mean_views_[i];
    else
      gradient = mean_views_[i].to(parameters_[i].device());
  }
  std::uint32_t requests = 0;
  for (std::int64_t bit = 0; bit < kRequestBits; ++bit) {
    if (control[bit] > 0.5F) requests |= std::uint32_t{1} << bit;
  }
  return requests;
}

void GradientBuckets::release_gradients() {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].grad().is_same(mean_views_[i])) parameters_[i].mutable_grad().reset();
}

}  // namespace ratoon
