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
  std::span<const Hash128> hashes{};       // one per tensor; empty: not a Ratoon pack
  bool skips_tensors_without_box = false;  // leave out tensors without a box: they are another rank's
};

// The location of a part: tensor number `tensor` of pack number `pack`.
struct TensorPart {
  std::uint32_t pack = 0;
  std::uint32_t tensor = 0;
  std::uint32_t copies = 1;  // this many parts from here on have the same box and bytes
  // `begin` and `end`: the range of the part's indices along the dimension IndexedTensor::axis. `end_max` is
  // the largest `end` among this part and all parts before it in the list.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t end_max = 0;
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
  // The index refers to the layouts and hashes of the packs, which must outlive it. Returns an error for
  // parts of one tensor that contradict each other: two types, two whole shapes, or two parts at the same
  // position with different bytes.
  [[nodiscard]] static Result<PartIndex> build(std::vector<IndexedPack> packs);

  PartIndex(PartIndex&&) = default;
  PartIndex& operator=(PartIndex&&) = default;
  ~PartIndex() = default;

  [[nodiscard]] std::span<const IndexedTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::span<const IndexedPack> packs() const { return packs_; }

  // Returns null if no pack has a part of the tensor. If you look up tensors in the order of a pack, pass the
  // previous result as `last`, which makes the search faster.
  [[nodiscard]] const IndexedTensor* find(std::string_view name, const IndexedTensor* last = nullptr) const;

  [[nodiscard]] const PackedTensor& at(const TensorPart& part) const {
    return packs_[part.pack].layout->tensors[part.tensor];
  }

  // Returns the parts that may hold elements whose index along the axis is at least `begin` and less than
  // `end`. Takes time in O(log n). Some returned parts may contain no wanted element, because parts_between()
  // compares only one dimension.
  [[nodiscard]] static std::span<const TensorPart> parts_between(const IndexedTensor& tensor,
                                                                 std::uint64_t begin, std::uint64_t end);

  // Returns a text for error messages, such as "'w' of shape 8,16, parts of which are in r0.safetensors,
  // r1.safetensors".
  [[nodiscard]] std::string describe(const IndexedTensor& tensor) const;

 private:
  PartIndex() = default;

  Result<std::vector<std::uint32_t>> assign_tensor_numbers();
  void sort_parts(IndexedTensor& tensor, std::span<TensorPart> parts) const;
  Result<void> count_copies(const IndexedTensor& tensor, std::span<TensorPart> parts) const;

  std::vector<IndexedPack> packs_;
  std::vector<IndexedTensor> tensors_;
  std::vector<TensorPart> parts_;
  std::unordered_map<std::string_view, std::uint32_t> tensor_numbers_;
};

// Returns true if the index contains `tensor`, which is a tensor of this pack.
[[nodiscard]] inline bool is_indexed_part(const IndexedPack& pack, const PackedTensor& tensor) {
  return tensor.box || !pack.skips_tensors_without_box;
}
// The first index of the part along a dimension of the whole tensor.
[[nodiscard]] inline std::uint64_t begin_of(const PackedTensor& part, std::size_t dimension) {
  return part.box ? part.box->begin[dimension] : 0;
}
[[nodiscard]] inline const TensorShape& whole_shape_of(const PackedTensor& part) {
  return part.box ? part.box->whole_shape : part.shape;
}

}  // namespace ratoon::checkpoint
