#include <array>
#include <bit>
#include <exception>
#include <utility>

#include <ATen/core/Tensor.h>

#include <ratoon/torch/tensor_bytes.h>

namespace ratoon {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors' bytes are little-endian");

struct DtypeName {
  at::ScalarType type;
  std::string_view name;
};

constexpr std::array kDtypeNames = {
    DtypeName{at::kBool, "BOOL"},
    DtypeName{at::kByte, "U8"},
    DtypeName{at::kChar, "I8"},
    DtypeName{at::kUInt16, "U16"},
    DtypeName{at::kShort, "I16"},
    DtypeName{at::kUInt32, "U32"},
    DtypeName{at::kInt, "I32"},
    DtypeName{at::kUInt64, "U64"},
    DtypeName{at::kLong, "I64"},
    DtypeName{at::kFloat8_e4m3fn, "F8_E4M3"},
    DtypeName{at::kFloat8_e5m2, "F8_E5M2"},
    DtypeName{at::kFloat8_e8m0fnu, "F8_E8M0"},
    DtypeName{at::kHalf, "F16"},
    DtypeName{at::kBFloat16, "BF16"},
    DtypeName{at::kFloat, "F32"},
    DtypeName{at::kDouble, "F64"},
    DtypeName{at::kComplexFloat, "C64"},
};

// Returns a problem that a copy of the tensor would have, too; empty if there is none. Keep the order of the
// checks, because each check is safe only after all earlier checks.
std::string_view reason_not_plain(const at::Tensor& tensor) {
  if (!tensor.defined()) return "the tensor is undefined";
  if (tensor.is_meta()) return "the tensor is on the meta device and has no values";
  if (tensor.is_quantized())
    return "the tensor is quantised; save its int_repr(), scales and zero points instead";
  if (tensor.is_nested()) return "the tensor is nested; save its parts";
  if (tensor.layout() != at::kStrided)
    return "the tensor is not dense; save its indices and values, or call to_dense()";
  return {};
}

// Returns a problem that plain_tensor() can solve by copying the tensor; empty if there is none.
std::string_view reason_not_viewable(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) return "the tensor is not on the CPU; copy it there first";
  if (tensor._is_zerotensor()) return "the tensor has no memory of its own; clone() it first";
  if (tensor.is_conj() || tensor.is_neg())
    return "the tensor is conjugated or negated lazily; clone() it first";
  if (!tensor.is_contiguous()) return "the tensor is not contiguous; call contiguous() first";
  return {};
}

Error refusal(const std::string& name, std::string_view why) {
  return Error(ErrorKind::kInvalid, "tensor \"" + name + "\": " + std::string(why));
}

// Returns a dense CPU tensor with the same values. If possible, the result shares the memory of `tensor` and
// is detached from autograd. Otherwise the result is a copy.
at::Tensor plain_tensor(const at::Tensor& tensor) {
  at::Tensor copy = tensor.detach().cpu().resolve_conj().resolve_neg();
  if (copy._is_zerotensor()) copy = copy.clone();
  return copy.contiguous();
}

}  // namespace

Result<std::string_view> safetensors_dtype(at::ScalarType type) {
  for (const auto& known : kDtypeNames) {
    if (known.type == type) return known.name;
  }
  return Error(ErrorKind::kInvalid,
               std::string("safetensors has no element type for ") + c10::toString(type));
}

Result<at::ScalarType> element_type_of(std::string_view dtype) {
  for (const auto& known : kDtypeNames) {
    if (known.name == dtype) return known.type;
  }
  return Error(ErrorKind::kInvalid,
               "LibTorch has no element type for safetensors' \"" + std::string(dtype) + "\"");
}

Result<TensorBytes> bytes_of(std::string name, const at::Tensor& tensor) {
  if (const auto why = reason_not_plain(tensor); !why.empty()) return refusal(name, why);
  if (const auto why = reason_not_viewable(tensor); !why.empty()) return refusal(name, why);
  const auto dtype = safetensors_dtype(tensor.scalar_type());
  if (!dtype) return dtype.error().with_context("tensor \"" + name + "\"");
  return TensorBytes{
      .name = std::move(name),
      .dtype = *dtype,
      .shape = tensor.sizes().vec(),
      .bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()},
      .owner = tensor,
  };
}

Result<TensorBytes> bytes_of_copy(std::string name, const at::Tensor& tensor) {
  if (const auto why = reason_not_plain(tensor); !why.empty()) return refusal(name, why);
  try {
    return bytes_of(name, plain_tensor(tensor));
  } catch (const c10::Error& error) {
    return refusal(name, std::string("the tensor could not be copied: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return refusal(name, std::string("the tensor could not be copied: ") + error.what());
  }
}

}  // namespace ratoon
