// TensorView: a tensor in memory, described by its name, element type, shape and bytes.
//
//   std::vector<float> weights(6);
//   const ratoon::TensorView view{.name = "layer.weight",
//                                 .type = ratoon::ElementType::kFloat32,
//                                 .shape = {2, 3},
//                                 .bytes = std::as_bytes(std::span(weights))};
//
// The bytes are row-major and little-endian; the number of bytes follows from the type and the shape. A
// TensorView does not own its bytes. The creator of a TensorView keeps the bytes alive and unchanged for as
// long as the function that receives the TensorView needs them.
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

// TensorBox: the position of a part within a larger tensor.
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
  // Whether a save writes only those parts of the tensor that changed since the last checkpoint. Has no
  // effect on small tensors and on tensors with a box.
  bool is_saved_in_parts = false;
  // Whether the program must create the tensor in its saved shape before Ratoon can restore the tensor. If
  // the shape of a tensor with has_fixed_shape changes during an attempt, the next save is refused, because
  // the next start would fail.
  bool has_fixed_shape = false;
};

}  // namespace ratoon
