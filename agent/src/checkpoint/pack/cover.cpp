#include "agent/src/checkpoint/pack/cover.h"

#include <algorithm>
#include <string>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/tiling.h"

namespace ratoon::checkpoint {
namespace {

using Indices = std::span<const std::uint64_t>;

bool contains_element(const PackedTensor& part, Indices element) {
  for (std::size_t d = 0; d < element.size(); ++d) {
    const std::uint64_t begin = begin_of(part, d);
    if (element[d] < begin || element[d] - begin >= part.shape[d]) return false;
  }
  return true;
}

Error not_covered_error(const PartIndex& index, const IndexedTensor& tensor, const TilingFault& fault) {
  std::string holders;
  for (std::size_t i = 0; i < tensor.parts.size(); i += tensor.parts[i].copies) {
    if (!contains_element(index.at(tensor.parts[i]), fault.element)) continue;
    holders.append(holders.empty() ? "" : " and in ").append(index.packs()[tensor.parts[i].pack].name);
  }
  const std::string what =
      fault.times == 0 ? "is in no pack" : "is in " + holders + ", in parts that overlap and are not copies";
  return Error(ErrorKind::kCorrupted, "the packs do not fit together: element [" + to_text(fault.element) +
                                          "] of tensor " + index.describe(tensor) + ", " + what);
}

// Stores the corners of the intersection of `part` with the box from `begin` to `end` in `from` and `to`.
// Returns false if the intersection has no elements.
bool clip_part(const PackedTensor& part, Indices begin, Indices end, TensorShape& from, TensorShape& to) {
  for (std::size_t d = 0; d < begin.size(); ++d) {
    from[d] = std::max(begin_of(part, d), begin[d]);
    to[d] = std::min(begin_of(part, d) + part.shape[d], end[d]);
    if (from[d] >= to[d]) return false;
  }
  return true;
}

}  // namespace

Result<void> check_cover(const PartIndex& index, const IndexedTensor& tensor, Indices begin, Indices end) {
  const auto parts =
      begin.empty() ? tensor.parts : PartIndex::parts_between(tensor, begin[tensor.axis], end[tensor.axis]);
  BoxList boxes(begin.size());
  TensorShape from(begin.size());
  TensorShape to(begin.size());
  for (std::size_t i = 0; i < parts.size(); i += parts[i].copies) {
    if (clip_part(index.at(parts[i]), begin, end, from, to)) boxes.add(from, to);
  }
  if (const auto fault = find_tiling_fault(boxes, begin, end))
    return not_covered_error(index, tensor, *fault);
  return {};
}

Result<void> check_cover(const PartIndex& index) {
  for (const auto& tensor : index.tensors()) {
    const TensorShape begin(tensor.whole_shape->size());
    if (auto covered = check_cover(index, tensor, begin, *tensor.whole_shape); !covered) return covered;
  }
  return {};
}

}  // namespace ratoon::checkpoint
