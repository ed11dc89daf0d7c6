// ElementType: the type of the elements of an array.
//
//   static_assert(ratoon::size_of(ratoon::ElementType::kFloat32) == 4);
//   std::cout << ratoon::name_of(ratoon::ElementType::kInt64) << '\n';  // int64
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ratoon {

enum class ElementType : std::uint8_t {
  kBytes,  // raw bytes: a file, or a format that only the user's code reads
  kText,   // UTF-8
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  // The types from kBool to kComplex64 occur only in tensors of checkpoints, never in columns of a data set.
  kBool,
  kBfloat16,
  kFloat8E4m3Fn,
  kFloat8E5m2,
  kComplex64,
};

// The size of an element in bytes; 1 for raw bytes and text. Elements are stored little-endian.
[[nodiscard]] constexpr std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kUint32:
    case ElementType::kInt32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kUint64:
    case ElementType::kInt64:
    case ElementType::kFloat64:
    case ElementType::kComplex64:
      return 8;
    case ElementType::kBytes:
    case ElementType::kText:
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
    case ElementType::kFloat8E4m3Fn:
    case ElementType::kFloat8E5m2:
      break;
  }
  return 1;
}

[[nodiscard]] constexpr std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::kBytes:
      return "bytes";
    case ElementType::kText:
      return "text";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint16:
      return "uint16";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kUint32:
      return "uint32";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kUint64:
      return "uint64";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kBfloat16:
      return "bfloat16";
    case ElementType::kFloat8E4m3Fn:
      return "float8_e4m3fn";
    case ElementType::kFloat8E5m2:
      return "float8_e5m2";
    case ElementType::kComplex64:
      return "complex64";
  }
  return "unknown";
}

// The ElementType of a C++ type: element_type_of<float>() is kFloat32, and element_type_of<std::byte>() is
// kBytes. For a C++ type without an ElementType, such as bool, element_type_of() does not compile.
template <class T>
[[nodiscard]] constexpr ElementType element_type_of() {
  if constexpr (std::same_as<T, std::byte>)
    return ElementType::kBytes;
  else if constexpr (std::same_as<T, std::uint8_t>)
    return ElementType::kUint8;
  else if constexpr (std::same_as<T, std::int8_t>)
    return ElementType::kInt8;
  else if constexpr (std::same_as<T, std::uint16_t>)
    return ElementType::kUint16;
  else if constexpr (std::same_as<T, std::int16_t>)
    return ElementType::kInt16;
  else if constexpr (std::same_as<T, std::uint32_t>)
    return ElementType::kUint32;
  else if constexpr (std::same_as<T, std::int32_t>)
    return ElementType::kInt32;
  else if constexpr (std::same_as<T, std::uint64_t>)
    return ElementType::kUint64;
  else if constexpr (std::same_as<T, std::int64_t>)
    return ElementType::kInt64;
  else if constexpr (std::same_as<T, float>)
    return ElementType::kFloat32;
  else if constexpr (std::same_as<T, double>)
    return ElementType::kFloat64;
  else
    static_assert(sizeof(T) == 0, "element_type_of<T>() needs std::byte or a number type of fixed size as T");
}

}  // namespace ratoon
