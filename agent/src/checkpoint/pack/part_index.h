// Every part of every tensor of a checkpoint, found by name and place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

struct IndexedPack {
  std::string_view name;  // as messages show it
  const PackLayout* layout = nullptr;
  std::span<const Hash128> hashes{};  // of its tensors; none: a foreign file
  bool has_only_boxes = false;        // what has no box belongs to another rank, and is left out
};

// Where a part lies: tensor `tensor` of pack `pack`, by their numbers.
struct TensorPart {
  std::uint32_t pack = 0;
  std::uint32_t tensor = 0;
  std::uint32_t copies = 1;  // so many parts from here on are the same box with the same bytes
  // Along the axis of its tensor, and the furthest that any part up to this one reaches.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t reach = 0;
};

struct IndexedTensor {
  std::string_view name;
  ElementType type = ElementType::kUint8;
  const TensorShape* whole_shape = nullptr;
  std::size_t axis = 0;                 // the dimension that it is cut along most often
  std::span<const TensorPart> parts{};  // in the order of their begin, copies beside each other
};

class PartIndex {
 public:
  // The layouts and hashes outlive the index. Refuses parts that are not of one tensor: other types, other
  // whole shapes, one box with other bytes.
  [[nodiscard]] static Result<PartIndex> build(std::vector<IndexedPack> packs);

  PartIndex(PartIndex&&) = default;
  PartIndex& operator=(PartIndex&&) = default;
  ~PartIndex() = default;

  [[nodiscard]] std::span<const IndexedTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::span<const IndexedPack> packs() const { return packs_; }

  // None: no pack has a part of it. Who asks for one tensor after the other hands in the last one.
  [[nodiscard]] const IndexedTensor* find(std::string_view name, const IndexedTensor* last = nullptr) const;

  [[nodiscard]] const PackedTensor& at(const TensorPart& part) const {
    return packs_[part.pack].layout->tensors[part.tensor];
  }

  // Those parts that may hold elements from `begin` to before `end` along the axis, in O(log n) and a walk.
  // A superset: other dimensions are not looked at.
  [[nodiscard]] static std::span<const TensorPart> parts_between(const IndexedTensor& tensor,
                                                                 std::uint64_t begin, std::uint64_t end);

  // "'w' of shape 8,16, parts of which are in r0.safetensors, r1.safetensors", for messages.
  [[nodiscard]] std::string describe(const IndexedTensor& tensor) const;

 private:
  PartIndex() = default;

  Result<std::vector<std::uint32_t>> name_parts();
  void order_parts(IndexedTensor& tensor, std::span<TensorPart> parts) const;
  Result<void> join_copies(const IndexedTensor& tensor, std::span<TensorPart> parts) const;

  std::vector<IndexedPack> packs_;
  std::vector<IndexedTensor> tensors_;
  std::vector<TensorPart> parts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// Whether the index takes this tensor of the pack for a part.
[[nodiscard]] inline bool is_part(const IndexedPack& pack, const PackedTensor& tensor) {
  return tensor.box || !pack.has_only_boxes;
}
// Where a part begins in its whole.
[[nodiscard]] inline std::uint64_t begin_of(const PackedTensor& part, std::size_t dimension) {
  return part.box ? part.box->begin[dimension] : 0;
}
[[nodiscard]] inline const TensorShape& whole_shape_of(const PackedTensor& part) {
  return part.box ? part.box->whole_shape : part.shape;
}

}  // namespace ratoon::checkpoint
