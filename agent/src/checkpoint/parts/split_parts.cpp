#include "agent/src/checkpoint/parts/split_parts.h"

#include <algorithm>

#include "agent/src/checkpoint/pack/header/safetensors_types.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kPartsPerTensor = 512;

bool must_split(const TensorView& tensor, const PartSizes& sizes, std::size_t parts_left) {
  if (!tensor.is_saved_in_parts || tensor.box || tensor.shape.empty()) return false;
  if (tensor.bytes.size() < sizes.tensor_bytes_min) return false;
  const std::uint64_t rows = tensor.shape.front();
  return (rows - 1) / choose_rows_per_part(rows, tensor.bytes.size(), sizes) < parts_left;
}

// Divides tensors into parts, one after the other.
class StateSplitter {
 public:
  explicit StateSplitter(const CommittedParts& known) : known_(known) {}

  void add(const TensorView& view) {
    if (!must_split(view, known_.sizes(), kPartsMax - part_count_)) {
      split_.pack_tensors.push_back(view);
      return;
    }
    const std::uint64_t rows = view.shape.front();
    split_.parts.tensors.push_back(
        {.name = view.name,
         .type = view.type,
         .shape = view.shape,
         .rows_per_part = choose_rows_per_part(rows, view.bytes.size(), known_.sizes())});
    TensorInParts& tensor = split_.parts.tensors.back();
    tensor.parts.resize((rows - 1) / tensor.rows_per_part + 1);
    part_count_ += tensor.parts.size();
    const std::uint64_t row_bytes = view.bytes.size() / rows;
    for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
      const auto bytes =
          view.bytes.subspan(tensor.first_row(part) * row_bytes, tensor.row_count(part) * row_bytes);
      add_part(tensor, part, bytes);
    }
  }

  SplitState take() && { return std::move(split_); }

 private:
  void add_part(TensorInParts& tensor, std::size_t part, std::span<const std::byte> bytes) {
    const Hash128 digest = xxh3_128(bytes);
    TensorShape shape = tensor.part_shape(part);
    if (const PartRecord* const known = known_.find(tensor.type, shape, digest)) {
      tensor.parts[part] = *known;
      split_.parts.base = known_.checkpoint();
      return;
    }
    tensor.parts[part].rows_digest = digest;
    const std::pair<std::size_t, std::size_t> place(split_.parts.tensors.size() - 1, part);
    // A new buffer often has many equal parts of zeros.
    const auto [first, last] = new_parts_.equal_range(digest);
    for (auto it = first; it != last; ++it) {
      PartToWrite& same = split_.parts.to_write[it->second];
      if (storage_order(same.rows.type) != storage_order(tensor.type) || same.rows.shape != shape) continue;
      same.places.push_back(place);
      return;
    }
    new_parts_.emplace(digest, split_.parts.to_write.size());
    split_.parts.to_write.push_back(
        {.rows = {.name = "rows", .type = tensor.type, .shape = std::move(shape), .bytes = bytes},
         .places = {place}});
  }

  const CommittedParts& known_;
  SplitState split_;
  std::size_t part_count_ = 0;
  std::unordered_multimap<Hash128, std::size_t> new_parts_;
};

}  // namespace

std::uint64_t choose_rows_per_part(std::uint64_t rows, std::uint64_t bytes, const PartSizes& sizes) {
  std::uint64_t part_bytes = sizes.part_bytes_min;
  while (part_bytes < bytes / kPartsPerTensor) part_bytes *= 2;
  return std::max<std::uint64_t>(1, part_bytes / (bytes / rows));
}

CommittedParts::CommittedParts(const CheckpointId& checkpoint, std::span<const TensorInParts> tensors,
                               const PartSizes& sizes)
    : checkpoint_(checkpoint), sizes_(sizes) {
  for (const TensorInParts& tensor : tensors)
    for (std::size_t part = 0; part < tensor.parts.size(); ++part)
      parts_.emplace(
          tensor.parts[part].rows_digest,
          Part{.type = tensor.type, .shape = tensor.part_shape(part), .record = tensor.parts[part]});
}

const PartRecord* CommittedParts::find(ElementType type, const TensorShape& shape, Hash128 digest) const {
  const auto [first, last] = parts_.equal_range(digest);
  const auto found = std::find_if(first, last, [&](const auto& one) {
    return storage_order(one.second.type) == storage_order(type) && one.second.shape == shape;
  });
  return found == last ? nullptr : &found->second.record;
}

std::uint64_t PartsOfSave::bytes_to_write() const {
  std::uint64_t bytes = 0;
  for (const PartToWrite& part : to_write) bytes += part.rows.bytes.size();
  return bytes;
}

SplitState split_into_parts(std::span<const TensorView> tensors, const CommittedParts& known) {
  StateSplitter splitter(known);
  for (const TensorView& tensor : tensors) splitter.add(tensor);
  return std::move(splitter).take();
}

}  // namespace ratoon::checkpoint
