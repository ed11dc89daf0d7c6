// A pack of every type, a number without dimensions, tensors without elements, a part of a larger one and a
// name that JSON has to escape. tests/unit/agent/checkpoint/pack/golden/make.py makes the same one with
// safetensors.
#pragma once

#include <string>
#include <vector>

#include "tests/support/pack_files.h"

namespace ratoon::test {

inline std::string sample_bytes(std::size_t number, std::size_t count, bool is_bool) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>((i * 7 + i / 251 + number * 31) & (is_bool ? 1 : 0xff));
  return bytes;
}

inline PackFile sample_pack() {
  using enum ElementType;
  std::vector<TensorView> views = {
      {.name = "bool", .type = kBool, .shape = {3, 5}},
      {.name = "uint8", .type = kUint8, .shape = {7}},
      {.name = "int8", .type = kInt8, .shape = {7}},
      {.name = "float8_e5m2", .type = kFloat8E5m2, .shape = {9}},
      {.name = "float8_e4m3fn", .type = kFloat8E4m3Fn, .shape = {9}},
      {.name = "int16", .type = kInt16, .shape = {3}},
      {.name = "uint16", .type = kUint16, .shape = {3}},
      {.name = "float16", .type = kFloat16, .shape = {2, 3}},
      {.name = "bfloat16", .type = kBfloat16, .shape = {2, 3}},
      {.name = "int32", .type = kInt32, .shape = {1, 1, 2}},
      {.name = "uint32", .type = kUint32, .shape = {2}},
      {.name = "float32", .type = kFloat32, .shape = {100, 90}},
      {.name = "complex64", .type = kComplex64, .shape = {5}},
      {.name = "float64", .type = kFloat64, .shape = {}},
      {.name = "int64", .type = kInt64, .shape = {2}},
      {.name = "uint64", .type = kUint64, .shape = {2}},
      {.name = "bytes", .type = kBytes, .shape = {11}},
      {.name = "text \"\\/\b\f\n\r\t\x01\x1f\x7f \u00e9\u20ac\U0001f331", .type = kText, .shape = {13}},
      {.name = "empty", .type = kFloat32, .shape = {0, 3}},
      {.name = "also empty", .type = kInt64, .shape = {4, 0}},
      {.name = "part", .type = kFloat32, .shape = {2, 16}, .box = TensorBox{{4, 0}, {8, 16}}},
      {.name = "another \"part\"", .type = kInt8, .shape = {3}, .box = TensorBox{{5}, {9}}},
  };
  std::vector<std::string> bytes;
  for (const auto& view : views) {
    std::size_t count = size_of(view.type);
    for (const auto size : view.shape) count *= size;
    bytes.push_back(sample_bytes(bytes.size(), count, view.type == kBool));
  }
  for (std::size_t i = 0; i < views.size(); ++i) views[i].bytes = bytes_of(bytes[i]);
  return make_pack("sample", views);
}

}  // namespace ratoon::test
