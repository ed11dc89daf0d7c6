#include "agent/src/checkpoint/pack/header/safetensors_types.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ratoon::checkpoint {
namespace {

// The types have the order of the enumeration Dtype in the safetensors library. The safetensors library sorts
// tensors by Dtype, and tensors of the last type come first in a file.
constexpr std::array<std::pair<std::string_view, ElementType>, 16> kTypes{{
    {"BOOL", ElementType::kBool},
    {"U8", ElementType::kUint8},
    {"I8", ElementType::kInt8},
    {"F8_E5M2", ElementType::kFloat8E5m2},
    {"F8_E4M3", ElementType::kFloat8E4m3Fn},
    {"I16", ElementType::kInt16},
    {"U16", ElementType::kUint16},
    {"F16", ElementType::kFloat16},
    {"BF16", ElementType::kBfloat16},
    {"I32", ElementType::kInt32},
    {"U32", ElementType::kUint32},
    {"F32", ElementType::kFloat32},
    {"C64", ElementType::kComplex64},
    {"F64", ElementType::kFloat64},
    {"I64", ElementType::kInt64},
    {"U64", ElementType::kUint64},
}};

}  // namespace

int storage_order(ElementType type) {
  const bool is_plain_bytes = type == ElementType::kBytes || type == ElementType::kText;
  const ElementType stored = is_plain_bytes ? ElementType::kUint8 : type;
  const auto entry = std::ranges::find(kTypes, stored, &decltype(kTypes)::value_type::second);
  return static_cast<int>(entry - kTypes.begin());
}

std::string_view safetensors_name(ElementType type) {
  return kTypes.at(static_cast<std::size_t>(storage_order(type))).first;
}

std::optional<ElementType> element_type_named(std::string_view name) {
  const auto entry = std::ranges::find(kTypes, name, &decltype(kTypes)::value_type::first);
  if (entry == kTypes.end()) return std::nullopt;
  return entry->second;
}

}  // namespace ratoon::checkpoint
