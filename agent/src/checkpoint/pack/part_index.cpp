#include "agent/src/checkpoint/pack/part_index.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <string>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kPacksNamedMax = 4;

Error inconsistent_packs_error(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "the packs do not fit together: " + what);
}

// Compares two parts of one tensor by the first index and the length of each dimension in turn.
std::strong_ordering compare_boxes(const PackedTensor& a, const PackedTensor& b) {
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (const auto order = begin_of(a, d) <=> begin_of(b, d); order != std::strong_ordering::equal)
      return order;
    if (const auto order = a.shape[d] <=> b.shape[d]; order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace

const IndexedTensor* PartIndex::find(std::string_view name, const IndexedTensor* last) const {
  if (last != nullptr) {
    const auto next = static_cast<std::size_t>(last - tensors_.data()) + 1;
    if (next < tensors_.size() && tensors_[next].name == name) return &tensors_[next];
  }
  const auto entry = tensor_numbers_.find(name);
  return entry == tensor_numbers_.end() ? nullptr : &tensors_[entry->second];
}

// Returns, for each part of all packs in order, the number of its tensor in the index. Most packs list the
// same tensors in the same order. So the search first tries the tensor that follows the previous result, and
// uses the hash table only if this tensor has another name.
Result<std::vector<std::uint32_t>> PartIndex::assign_tensor_numbers() {
  std::vector<std::uint32_t> numbers;
  for (const auto& pack : packs_) {
    const IndexedTensor* last = nullptr;
    for (const auto& part : pack.layout->tensors) {
      if (!is_indexed_part(pack, part)) continue;
      const IndexedTensor* known = find(part.name, last);
      if (known == nullptr) {
        tensor_numbers_.emplace(part.name, static_cast<std::uint32_t>(tensors_.size()));
        known = &tensors_.emplace_back(IndexedTensor{part.name, part.type, &whole_shape_of(part)});
      } else if (storage_order(known->type) != storage_order(part.type) ||
                 *known->whole_shape != whole_shape_of(part)) {
        return inconsistent_packs_error(
            "tensor " + in_quotes(part.name) + " is of type " + std::string(safetensors_name(part.type)) +
            " and whole shape " + to_text(whole_shape_of(part)) + " in " + std::string(pack.name) +
            ", and of type " + std::string(safetensors_name(known->type)) + " and whole shape " +
            to_text(*known->whole_shape) + " in an earlier pack");
      }
      numbers.push_back(static_cast<std::uint32_t>(known - tensors_.data()));
      last = known;
    }
  }
  return numbers;
}

void PartIndex::sort_parts(IndexedTensor& tensor, std::span<TensorPart> parts) const {
  std::vector<std::uint64_t> begins;
  std::size_t most = 1;
  for (std::size_t d = 0; d < tensor.whole_shape->size() && parts.size() > 1; ++d) {
    begins.clear();
    for (const auto& part : parts) begins.push_back(begin_of(at(part), d));
    std::ranges::sort(begins);
    const auto distinct = static_cast<std::size_t>(std::ranges::unique(begins).begin() - begins.begin());
    if (distinct > most) {
      most = distinct;
      tensor.axis = d;
    }
  }
  for (auto& part : parts) {
    const PackedTensor& place = at(part);
    const bool is_number = place.shape.empty();  // treated as one dimension of length 1
    part.begin = is_number ? 0 : begin_of(place, tensor.axis);
    part.end = is_number ? 1 : part.begin + place.shape[tensor.axis];
  }
  std::ranges::sort(parts, [this](const TensorPart& a, const TensorPart& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    const auto order = compare_boxes(at(a), at(b));
    return order == std::strong_ordering::equal ? a.pack < b.pack : order == std::strong_ordering::less;
  });
  std::uint64_t end_max = 0;
  for (auto& part : parts) part.end_max = end_max = std::max(end_max, part.end);
}

Result<void> PartIndex::count_copies(const IndexedTensor& tensor, std::span<TensorPart> parts) const {
  std::size_t first = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin != parts[first].begin ||
        compare_boxes(at(parts[i]), at(parts[first])) != std::strong_ordering::equal) {
      first = i;
      continue;
    }
    const IndexedPack& one = packs_[parts[first].pack];
    const IndexedPack& other = packs_[parts[i].pack];
    const bool are_known = !one.hashes.empty() && !other.hashes.empty();
    if (!are_known || one.hashes[parts[first].tensor] != other.hashes[parts[i].tensor]) {
      return inconsistent_packs_error("tensor " + in_quotes(tensor.name) + " is in " + std::string(one.name) +
                                      " and in " + std::string(other.name) +
                                      ", in parts that are not known to have the same bytes");
    }
    parts[first].copies = static_cast<std::uint32_t>(i - first + 1);
  }
  return {};
}

Result<PartIndex> PartIndex::build(std::vector<IndexedPack> packs) {
  PartIndex index;
  index.packs_ = std::move(packs);
  auto numbers = index.assign_tensor_numbers();
  if (!numbers) return numbers.error();
  if (numbers->size() > std::numeric_limits<std::uint32_t>::max())
    return inconsistent_packs_error("there are " + std::to_string(numbers->size()) +
                                    " parts of tensors, more than an index can hold");

  // The code below is a counting sort: it computes the position of each tensor's first part, and then moves
  // each part to its place.
  std::vector<std::size_t> places(index.tensors_.size() + 1);
  for (const std::uint32_t number : *numbers) ++places[number + 1];
  for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  index.parts_.resize(numbers->size());
  std::vector<std::size_t> next(places.begin(), places.end());
  std::size_t i = 0;
  for (std::uint32_t pack = 0; pack < index.packs_.size(); ++pack) {
    const auto& tensors = index.packs_[pack].layout->tensors;
    for (std::uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
      if (is_indexed_part(index.packs_[pack], tensors[tensor]))
        index.parts_[next[(*numbers)[i++]]++] = {.pack = pack, .tensor = tensor};
    }
  }
  for (std::size_t t = 0; t < index.tensors_.size(); ++t) {
    const auto parts = std::span(index.parts_).subspan(places[t], places[t + 1] - places[t]);
    index.sort_parts(index.tensors_[t], parts);
    if (auto joined = index.count_copies(index.tensors_[t], parts); !joined) return joined.error();
    index.tensors_[t].parts = parts;
  }
  return index;
}

std::span<const TensorPart> PartIndex::parts_between(const IndexedTensor& tensor, std::uint64_t begin,
                                                     std::uint64_t end) {
  const auto first =
      std::ranges::partition_point(tensor.parts, [&](const auto& part) { return part.end_max <= begin; });
  const auto last =
      std::ranges::partition_point(tensor.parts, [&](const auto& part) { return part.begin < end; });
  return first < last ? std::span(first, last) : std::span<const TensorPart>();
}

std::string PartIndex::describe(const IndexedTensor& tensor) const {
  std::vector<std::uint32_t> packs;
  for (const auto& part : tensor.parts) packs.push_back(part.pack);
  std::ranges::sort(packs);
  packs.erase(std::ranges::unique(packs).begin(), packs.end());
  std::string text =
      in_quotes(tensor.name) + " of shape " + to_text(*tensor.whole_shape) + ", parts of which are in";
  for (std::size_t i = 0; i < packs.size() && i < kPacksNamedMax; ++i)
    text.append(i == 0 ? " " : ", ").append(packs_[packs[i]].name);
  if (packs.size() > kPacksNamedMax)
    text += " and " + std::to_string(packs.size() - kPacksNamedMax) + " more";
  return text;
}

}  // namespace ratoon::checkpoint
