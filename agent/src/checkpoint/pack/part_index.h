// An index of all parts of all tensors of a checkpoint, by name and position.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

struct IndexedPack {
  std::string_view name;  // for messages
  const PackLayout* layout = nullptr;
  std::span<const Hash128> hashes{};  // one per tensor; empty: not a Ratoon pack
  bool has_only_boxes = false;        // leave out tensors without a box: they are another rank's
};

// The location of a part: tensor number `tensor` of pack number `pack`.
struct TensorPart {
  std::uint32_t pack = 0;
  std::uint32_t tensor = 0;
  std::uint32_t copies = 1;  // this many parts from here on have the same box and bytes
  // The part's range along IndexedTensor::axis. `reach` is the largest end of this and all earlier parts.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t reach = 0;
};

struct IndexedTensor {
  std::string_view name;
  ElementType type = ElementType::kUint8;
  const TensorShape* whole_shape = nullptr;
  std::size_t axis = 0;                 // the dimension with the most cuts
  std::span<const TensorPart> parts{};  // sorted by begin; copies are neighbours
};

class PartIndex {
 public:
  // The layouts and hashes must outlive the index. Refuses parts of the same name that do not fit each other:
  // different types, different whole shapes, or one box with different bytes.
  [[nodiscard]] static Result<PartIndex> build(std::vector<IndexedPack> packs);

  PartIndex(PartIndex&&) = default;
  PartIndex& operator=(PartIndex&&) = default;
  ~PartIndex() = default;

  [[nodiscard]] std::span<const IndexedTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::span<const IndexedPack> packs() const { return packs_; }

  // Returns null if no pack has a part of the tensor. For lookups in the order of a pack, pass the last
  // result as `last`: the lookup is then faster.
  [[nodiscard]] const IndexedTensor* find(std::string_view name, const IndexedTensor* last = nullptr) const;

  [[nodiscard]] const PackedTensor& at(const TensorPart& part) const {
    return packs_[part.pack].layout->tensors[part.tensor];
  }

  // Returns the parts that may hold elements from `begin` to before `end` along the axis. O(log n). The
  // result may contain more parts than needed: the other dimensions are not checked.
  [[nodiscard]] static std::span<const TensorPart> parts_between(const IndexedTensor& tensor,
                                                                 std::uint64_t begin, std::uint64_t end);

  // Returns a text for messages: "'w' of shape 8,16, parts of which are in r0.safetensors, r1.safetensors".
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

// Whether the index contains this tensor of the pack.
[[nodiscard]] inline bool is_part(const IndexedPack& pack, const PackedTensor& tensor) {
  return tensor.box || !pack.has_only_boxes;
}
// The first index of the part along a dimension of the whole tensor.
[[nodiscard]] inline std::uint64_t begin_of(const PackedTensor& part, std::size_t dimension) {
  return part.box ? part.box->begin[dimension] : 0;
}
[[nodiscard]] inline const TensorShape& whole_shape_of(const PackedTensor& part) {
  return part.box ? part.box->whole_shape : part.shape;
}

}  // namespace ratoon::checkpoint
