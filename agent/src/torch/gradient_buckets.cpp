#include "agent/src/torch/gradient_buckets.h"

#include <algorithm>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/set.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/util/strides.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::int64_t kBucketPieceBytes = 8 << 20;

// The control word: one number a bit of the wishes, then whether the rank gave a number of samples and the
// digits of that, then one a parameter, then what the caller adds.
constexpr std::int64_t kWishBits = 32;
constexpr std::int64_t kDigits = 6;
constexpr std::uint64_t kDigitBits = 8;  // so that those of 65,536 ranks, the most of a world, stay exact
constexpr std::int64_t kGave = kWishBits;
constexpr std::int64_t kFirstDigit = kGave + 1;
constexpr std::int64_t kFirstParameter = kFirstDigit + kDigits;
// Sums of ones and of digits must stay exact, so control words are in this type whatever the gradients are
// in.
constexpr at::ScalarType kControlType = at::kFloat;

[[noreturn]] void fail(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

// What gradients of a type are added up in. Half precision has too few digits for shares and their sums, and
// too small numbers for a gradient times its samples.
at::ScalarType type_of_sums(at::ScalarType type) {
  return c10::isReducedFloatingType(type) ? at::kFloat : type;
}

}  // namespace

GradientBuckets::GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more)
    : parameters_(std::move(parameters)),
      places_(parameters_.size()),
      views_(parameters_.size()),
      more_(more) {
  place_pieces();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& like = parameters_[i];
    const auto [piece, offset] = places_[i];
    // No view in the eyes of autograd, of which Optimizer::zero_grad() could not detach_() a gradient.
    views_[i] =
        at::empty({0}, pieces_[piece].options())
            .set_(pieces_[piece].storage(), offset, like.sizes(), c10::contiguous_strides(like.sizes()));
  }
}

void GradientBuckets::place_pieces() {
  struct Size {
    at::ScalarType type;
    std::int64_t elements;
  };
  std::vector<Size> sizes;
  const auto last_takes = [&sizes](at::ScalarType type, std::int64_t elements) {
    const auto element_bytes = static_cast<std::int64_t>(c10::elementSize(type));
    return !sizes.empty() && sizes.back().type == type &&
           (sizes.back().elements + elements) * element_bytes <= kBucketPieceBytes;
  };
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters_[i];
    const at::ScalarType type = type_of_sums(parameter.scalar_type());
    if (!last_takes(type, parameter.numel())) sizes.push_back({type, 0});
    places_[i] = {sizes.size() - 1, sizes.back().elements};
    sizes.back().elements += parameter.numel();
  }
  const auto control_numbers = kFirstParameter + static_cast<std::int64_t>(parameters_.size() + more_);
  if (sizes.empty() || sizes.back().type != kControlType) sizes.push_back({kControlType, 0});
  sizes.back().elements += control_numbers;
  for (const Size& size : sizes) pieces_.push_back(at::zeros({size.elements}, at::TensorOptions(size.type)));
  control_ = pieces_.back().narrow(0, sizes.back().elements - control_numbers, control_numbers);
}

bool GradientBuckets::is_for(const std::vector<at::Tensor>& parameters) const {
  const auto is_as_it_was = [&, i = std::size_t{0}](const at::Tensor& a, const at::Tensor& b) mutable {
    const at::Tensor& view = views_[i++];
    return a.is_same(b) && a.sizes() == view.sizes() && type_of_sums(a.scalar_type()) == view.scalar_type();
  };
  return std::ranges::equal(parameters, parameters_, is_as_it_was);
}

std::vector<std::size_t> GradientBuckets::places() const {
  std::vector<std::size_t> pieces;
  for (const Place& place : places_) pieces.push_back(place.piece);
  return pieces;
}

std::span<float> GradientBuckets::more() {
  return std::span(control_.mutable_data_ptr<float>(), static_cast<std::size_t>(control_.numel()))
      .last(more_);
}

void GradientBuckets::begin(std::uint32_t world_size, std::optional<std::uint64_t> samples) {
  world_size_ = world_size;
  samples_ = samples;
}

void GradientBuckets::fill(std::size_t piece) {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (places_[i].piece == piece) fill_one(i);
}

void GradientBuckets::fill_one(std::size_t parameter) const {
  at::Tensor view = views_[parameter];
  const at::Tensor& gradient = parameters_[parameter].grad();
  if (!gradient.defined() || samples_ == 0) {  // the mean of no samples is no number
    view.zero_();
    return;
  }
  if (gradient.layout() != at::kStrided) {
    fail("the gradient of parameter " + std::to_string(parameter) +
         " is sparse, and only dense ones can be averaged: use an Embedding with sparse(false)");
  }
  const double weight = samples_ ? static_cast<double>(*samples_) : 1.0 / world_size_;
  if (gradient.is_cpu() && gradient.scalar_type() == view.scalar_type())
    at::mul_out(view, gradient, at::scalar_tensor(weight, at::kDouble));
  else
    view.copy_(gradient).mul_(weight);
}

void GradientBuckets::tell(std::uint32_t wishes) {
  auto* const control = control_.mutable_data_ptr<float>();
  for (std::int64_t bit = 0; bit < kWishBits; ++bit) control[bit] = (wishes >> bit & 1U) != 0 ? 1.0F : 0.0F;
  control[kGave] = samples_ ? 1.0F : 0.0F;
  std::uint64_t left = samples_.value_or(0);
  for (std::int64_t digit = 0; digit < kDigits; ++digit, left >>= kDigitBits)
    control[kFirstDigit + digit] = static_cast<float>(left & ((1U << kDigitBits) - 1));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    control[kFirstParameter + static_cast<std::int64_t>(i)] = parameters_[i].grad().defined() ? 1.0F : 0.0F;
}

double GradientBuckets::sum_of_samples() const {
  const auto* const control = control_.const_data_ptr<float>();
  const auto gave = static_cast<std::uint32_t>(control[kGave]);
  if (gave == 0) return 1;
  if (gave != world_size_) {
    fail(std::to_string(gave) + " of " + std::to_string(world_size_) +
         " ranks gave average_gradients() the number of their samples: give it on all of them, or on none");
  }
  double sum = 0;
  for (std::int64_t digit = kDigits; digit-- > 0;)
    sum = sum * (1U << kDigitBits) + static_cast<double>(control[kFirstDigit + digit]);
  return std::max(sum, 1.0);
}

std::uint32_t GradientBuckets::finish() {
  const c10::AutoGradMode no_grad(false);
  const double samples = sum_of_samples();
  const auto* const control = control_.const_data_ptr<float>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (control[kFirstParameter + static_cast<std::int64_t>(i)] < 0.5F) continue;  // no rank has it
    if (samples_) views_[i].div_(samples);
    parameters_[i].mutable_grad() = views_[i].to(parameters_[i].options());
  }
  std::uint32_t wishes = 0;
  for (std::int64_t bit = 0; bit < kWishBits; ++bit) {
    if (control[bit] > 0.5F) wishes |= std::uint32_t{1} << bit;
  }
  return wishes;
}

void GradientBuckets::let_go() {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].grad().is_same(views_[i])) parameters_[i].mutable_grad().reset();
}

}  // namespace ratoon
