// TensorView: a tensor in memory, as checkpoints describe it: a name, a type, a shape, the bytes.
//
//   std::vector<float> weights(6);
//   const ratoon::TensorView view{.name = "layer.weight",
//                                 .type = ratoon::ElementType::kFloat32,
//                                 .shape = {2, 3},
//                                 .bytes = std::as_bytes(std::span(weights))};
//
// The bytes are row-major and little-endian; the number of bytes follows from the type and the shape. The
// code that creates a view must keep the bytes alive and unchanged for as long as the function that takes the
// view requires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/element_type.h>

namespace ratoon {

using TensorShape = std::vector<std::uint64_t>;  // {}: one number, no dimension

// The position of a view that is a part of a larger tensor.
struct TensorBox {
  TensorShape begin{};  // the index of the part's first element; as many numbers as `whole_shape`
  TensorShape whole_shape{};

  friend bool operator==(const TensorBox&, const TensorBox&) = default;
};

struct TensorView {
  std::string name{};
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::span<const std::byte> bytes{};
  std::optional<TensorBox> box{};  // none: the view is the whole tensor
};

}  // namespace ratoon
