#include "agent/src/torch/tracking/stored_tensor.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <ratoon/torch/batch_tensor.h>
#include <ratoon/torch/tensor_bytes.h>

namespace ratoon {
namespace {

constexpr std::array kStoredTypes = {
    ElementType::kUint8,    ElementType::kInt8,         ElementType::kUint16,     ElementType::kInt16,
    ElementType::kUint32,   ElementType::kInt32,        ElementType::kUint64,     ElementType::kInt64,
    ElementType::kFloat16,  ElementType::kFloat32,      ElementType::kFloat64,    ElementType::kBool,
    ElementType::kBfloat16, ElementType::kFloat8E4m3Fn, ElementType::kFloat8E5m2, ElementType::kComplex64};

std::optional<ElementType> stored_type_of(at::ScalarType type) {
  for (const ElementType candidate : kStoredTypes) {
    if (torch::scalar_type_of(candidate) == type) return candidate;
  }
  return std::nullopt;
}

std::string unsupported_type_text(const std::string& name, at::ScalarType type) {
  return "tensor \"" + name + "\" is of type " + c10::toString(type) + ", which checkpoints do not support";
}

TensorShape shape_of(const at::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

bool is_usable_in_place(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.is_contiguous() && !tensor.is_conj() &&
         !tensor.is_neg() && !tensor._is_zerotensor();
}

at::TensorOptions host_options_like(const at::Tensor& tensor) {
  return at::TensorOptions(tensor.scalar_type()).pinned_memory(tensor.is_cuda());
}

// In a dimension that expand() made, all elements are one in memory, and ATen refuses to write to them as to
// several.
at::Tensor without_expanded_dimensions(at::Tensor tensor, const at::Tensor& memory) {
  for (std::int64_t i = 0; i < memory.dim(); ++i)
    if (memory.stride(i) == 0 && memory.size(i) > 1) tensor = tensor.narrow(i, 0, 1);
  return tensor;
}

// Copies to and from a GPU are several times as fast if the host's memory is pinned.
at::Tensor copy_from_gpu(const at::Tensor& tensor) {
  at::Tensor host = at::empty(tensor.sizes(), host_options_like(tensor));
  host.copy_(tensor.detach());
  return host;
}

}  // namespace

StateWriter::Memory memory_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.numel() == 0)
    return {};
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return {.begin = tensor.const_data_ptr(),
          .bytes = static_cast<std::uint64_t>(last + 1) * tensor.element_size()};
}

void write_tensor(StateWriter& out, const std::string& name, const at::Tensor& tensor,
                  const std::optional<TensorBox>& box, ShapeRule rule) {
  const bool is_on_gpu = tensor.defined() && tensor.is_cuda() && tensor.layout() == at::kStrided;
  auto bytes = bytes_of_copy(name, is_on_gpu ? copy_from_gpu(tensor) : tensor);
  if (!bytes) out.refuse("it cannot be saved: " + bytes.error().message());
  const auto type = stored_type_of(bytes->owner.scalar_type());
  if (!type) out.refuse("it cannot be saved: " + unsupported_type_text(name, bytes->owner.scalar_type()));
  out.tensor({.name = name,
              .type = *type,
              .shape = shape_of(bytes->owner),
              .bytes = bytes->bytes,
              .box = box,
              .has_fixed_shape = rule == ShapeRule::kFixed && !box},
             std::make_shared<const at::Tensor>(bytes->owner));
  if (const auto memory = memory_of(tensor); memory.bytes != 0) out.lies_at(memory);
}

void request_tensor(StateReader& in, const std::string& name, const at::Tensor& tensor,
                    const std::optional<TensorBox>& box) {
  const auto type = stored_type_of(tensor.scalar_type());
  if (!type) in.refuse(unsupported_type_text(name, tensor.scalar_type()));
  const WantedTensor wanted{.name = name, .type = *type, .shape = shape_of(tensor), .box = box};
  const bool fits = is_usable_in_place(tensor);
  const at::Tensor host = fits ? tensor : at::empty(tensor.sizes(), host_options_like(tensor));
  in.tensor(wanted, {static_cast<std::byte*>(host.mutable_data_ptr()), host.nbytes()});
  in.at_end([tensor, host, fits] {
    const at::NoGradGuard no_grad;
    if (!fits)
      without_expanded_dimensions(tensor, tensor).copy_(without_expanded_dimensions(host, tensor));
    else if (!tensor.is_inference())
      tensor.unsafeGetTensorImpl()->bump_version();  // as every other change in place does
  });
}

at::Tensor empty_like_stored(StateReader& in, const std::string& name, at::Device device) {
  const auto form = in.find(name);
  if (!form) return {};
  const std::vector<std::int64_t> sizes(form->shape.begin(), form->shape.end());
  return at::empty(sizes, at::TensorOptions(torch::scalar_type_of(form->type)).device(device));
}

}  // namespace ratoon
