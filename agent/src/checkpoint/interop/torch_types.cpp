#include "agent/src/checkpoint/interop/torch_types.h"

#include <algorithm>
#include <iterator>

namespace ratoon::checkpoint {
namespace {

constexpr TorchType kTypes[] = {
    {ElementType::kUint8, "uint8", "ByteStorage"},
    {ElementType::kInt8, "int8", "CharStorage"},
    {ElementType::kUint16, "uint16", ""},
    {ElementType::kInt16, "int16", "ShortStorage"},
    {ElementType::kUint32, "uint32", ""},
    {ElementType::kInt32, "int32", "IntStorage"},
    {ElementType::kUint64, "uint64", ""},
    {ElementType::kInt64, "int64", "LongStorage"},
    {ElementType::kFloat16, "float16", "HalfStorage"},
    {ElementType::kFloat32, "float32", "FloatStorage"},
    {ElementType::kFloat64, "float64", "DoubleStorage"},
    {ElementType::kBool, "bool", "BoolStorage"},
    {ElementType::kBfloat16, "bfloat16", "BFloat16Storage"},
    {ElementType::kFloat8E4m3Fn, "float8_e4m3fn", ""},
    {ElementType::kFloat8E5m2, "float8_e5m2", ""},
    {ElementType::kComplex64, "complex64", "ComplexFloatStorage"},
};

template <class Is>
std::optional<TorchType> find(const Is& is_it) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes), is_it);
  return found == std::end(kTypes) ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<TorchType> torch_type_of(ElementType type) {
  return find([&](const TorchType& known) { return known.type == type; });
}

std::optional<TorchType> torch_type_of_dtype(std::string_view dtype) {
  return find([&](const TorchType& known) { return known.dtype == dtype; });
}

std::optional<TorchType> torch_type_of_storage(std::string_view storage) {
  return find([&](const TorchType& known) { return known.storage == storage && !storage.empty(); });
}

}  // namespace ratoon::checkpoint
