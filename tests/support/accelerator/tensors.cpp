// Operators that make tensors and views of them. No kernel runs.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "tests/support/accelerator/allocator.h"
#include "tests/support/accelerator/streams.h"

namespace ratoon::test::accelerator {
namespace {

constexpr c10::DispatchKeySet kOwnKey(c10::DispatchKey::PrivateUse1);

// An index of -1 is the current device.
std::optional<c10::Device> named(std::optional<c10::Device> device) {
  return device && device->has_index() ? device : std::nullopt;
}

at::Tensor make_empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type,
                      std::optional<at::Layout> layout, std::optional<c10::Device> device,
                      std::optional<bool> /*pin_memory*/, std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, "the test accelerator has no sparse tensors");
  const c10::OptionalDeviceGuard guard(named(device));
  return at::detail::empty_generic(sizes, &allocator(), kOwnKey, c10::dtype_or_default(type), format);
}

at::Tensor make_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                        std::optional<at::Layout> /*layout*/, std::optional<c10::Device> device,
                        std::optional<bool> /*pin_memory*/) {
  const c10::OptionalDeviceGuard guard(named(device));
  return at::detail::empty_strided_generic(sizes, strides, &allocator(), kOwnKey,
                                           c10::dtype_or_default(type));
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  const c10::OptionalDeviceGuard guard(self.device());
  c10::Storage nothing(c10::Storage::use_byte_size_t{}, 0, &allocator(), true);
  return at::native::set_storage_cpu_(self, std::move(nothing), 0, {0}, {});
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef sizes,
                         std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(self.device());
  return at::native::resize_(self, sizes, format);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &make_empty);
  m.impl("empty_strided", &make_strided);
  m.impl("view", &at::native::view);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("resize_", &resize);
  m.impl("set_", &set_to_nothing);
  m.impl("set_.source_Tensor", &at::native::set_tensor_);
  m.impl("set_.source_Storage", &at::native::set_);
  m.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
}

// LibTorch knows no device except its own whose tensors may replace CPU tensors, as Module::to() does.
bool may_take_place_of(const at::Tensor& self, const at::Tensor& from) {
  const auto is_plain = [](const at::Tensor& tensor) {
    return tensor.layout() == at::kStrided && (tensor.is_cpu() || tensor.is_privateuseone());
  };
  return is_plain(self) && is_plain(from);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", &may_take_place_of);
}

}  // namespace
}  // namespace ratoon::test::accelerator
