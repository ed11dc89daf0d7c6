#include "agent/src/checkpoint/pack/read_plan.h"

#include <algorithm>
#include <string>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/cover.h"
#include "agent/src/checkpoint/pack/extents.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

std::string describe_type_and_shape(ElementType type, const TensorShape& shape) {
  return std::string(safetensors_name(type)) + " of shape " + to_text(shape);
}

Error unloadable_tensor_error(const TensorSpec& wanted, const std::string& why) {
  return Error(ErrorKind::kInvalid, "tensor " + in_quotes(wanted.name) + " cannot be loaded: " + why);
}

// Checks that the checkpoint has the tensor with this type and shape, and that the wanted box lies inside it.
Result<void> check_wanted_tensor(const TensorSpec& wanted, const IndexedTensor& tensor) {
  const TensorShape& whole = wanted.box ? wanted.box->whole_shape : wanted.shape;
  if (storage_order(wanted.type) != storage_order(tensor.type) || whole != *tensor.whole_shape) {
    return unloadable_tensor_error(
        wanted, "the saved tensor is " + describe_type_and_shape(tensor.type, *tensor.whole_shape) +
                    ", but the program wants " + describe_type_and_shape(wanted.type, whole));
  }
  if (wanted.box && !box_holds(*wanted.box, wanted.shape)) {
    return unloadable_tensor_error(
        wanted, "a part of shape " + to_text(wanted.shape) + " does not fit at " + to_text(*wanted.box));
  }
  return {};
}

class ReadPlanner {
 public:
  ReadPlanner(const PartIndex& index, std::uint32_t reader)
      : index_(index), reader_(reader), copies_(index.packs().size()) {}

  Result<void> add(const TensorSpec& wanted) {
    const IndexedTensor* const tensor = index_.find(wanted.name, last_);
    if (tensor == nullptr)
      return Error(ErrorKind::kNotFound, "the checkpoint has no tensor " + in_quotes(wanted.name));
    last_ = tensor;
    if (auto checked = check_wanted_tensor(wanted, *tensor); !checked) return checked;

    const std::size_t dimensions = wanted.shape.size();
    begin_ = wanted.box ? wanted.box->begin : TensorShape(dimensions);
    end_ = begin_;
    for (std::size_t d = 0; d < dimensions; ++d) end_[d] += wanted.shape[d];
    if (auto covered = check_cover(index_, *tensor, begin_, end_); !covered) return covered;

    const auto parts = dimensions == 0
                           ? tensor->parts
                           : PartIndex::parts_between(*tensor, begin_[tensor->axis], end_[tensor->axis]);
    for (std::size_t i = 0; i < parts.size(); i += parts[i].copies)
      take(wanted, nearest(parts.subspan(i, parts[i].copies)));
    plan_.bytes_wanted += count_bytes(wanted.type, wanted.shape).value_or(0);
    ++number_;
    return {};
  }

  ReadPlan finish() && {
    for (std::uint32_t pack = 0; pack < copies_.size(); ++pack) {
      if (copies_[pack].empty()) continue;
      PackReads reads{.pack = pack, .extents = {}, .copies = std::move(copies_[pack])};
      reads.extents = make_extents(*index_.packs()[pack].layout, reads.copies, plan_.loops);
      for (const auto& extent : reads.extents) plan_.bytes_read += extent.end - extent.begin;
      plan_.packs.push_back(std::move(reads));
    }
    return std::move(plan_);
  }

 private:
  const TensorPart& nearest(std::span<const TensorPart> copies) const {
    const auto own = std::ranges::find(copies, reader_, &TensorPart::pack);
    return own != copies.end() ? *own : copies[reader_ % copies.size()];
  }

  // Adds to the plan a copy of those elements of a saved part that are in the wanted box.
  void take(const TensorSpec& wanted, const TensorPart& part) {
    const PackedTensor& source = index_.at(part);
    const std::size_t dimensions = wanted.shape.size();
    common_.resize(dimensions);
    from_.resize(dimensions);
    to_.resize(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) {
      const std::uint64_t source_begin = begin_of(source, d);
      const std::uint64_t begin = std::max(source_begin, begin_[d]);
      const std::uint64_t end = std::min(source_begin + source.shape[d], end_[d]);
      if (begin >= end) return;
      common_[d] = end - begin;
      from_[d] = begin - source_begin;
      to_[d] = begin - begin_[d];
    }
    copies_[part.pack].push_back(
        {.copy = make_copy(common_, {from_, source.shape, source.begin}, {to_, wanted.shape, 0},
                           size_of(source.type), plan_.loops),
         .tensor = part.tensor,
         .wanted = number_});
  }

  const PartIndex& index_;
  std::uint32_t reader_;
  std::uint32_t number_ = 0;
  const IndexedTensor* last_ = nullptr;
  std::vector<std::vector<WantedCopy>> copies_;  // by pack
  ReadPlan plan_;
  TensorShape begin_, end_;         // of the wanted box
  TensorShape common_, from_, to_;  // members, to reuse their memory
};

Error damaged_bytes_error(const std::string& what) {
  return Error(ErrorKind::kCorrupted, what + " are not the bytes that were saved");
}

}  // namespace

Result<ReadPlan> plan_reads(const PartIndex& index, std::span<const TensorSpec> wanted,
                            std::uint32_t reader) {
  ReadPlanner planner(index, reader);
  for (const auto& tensor : wanted) {
    if (auto added = planner.add(tensor); !added) return added.error();
  }
  return std::move(planner).finish();
}

Result<void> verify_extent(const PackHeader& pack, const Extent& extent, std::span<const std::byte> bytes) {
  const std::uint64_t data_bytes = pack.layout.data_bytes;
  for (std::uint64_t block = extent.first_block; block < extent.first_block + extent.block_count; ++block) {
    const std::uint64_t begin = block * kPackBlockBytes;
    const std::uint64_t end = std::min(begin + kPackBlockBytes, data_bytes);
    if (crc32c(bytes.subspan(begin - extent.begin, end - begin)) != pack.block_crcs[block]) {
      return damaged_bytes_error("bytes " + std::to_string(pack.layout.header_bytes + begin) + " to " +
                                 std::to_string(pack.layout.header_bytes + end) + " of the pack, block " +
                                 std::to_string(block) + ",");
    }
  }
  for (const std::uint32_t number : extent.hashed) {
    const PackedTensor& tensor = pack.layout.tensors[number];
    if (xxh3_128(bytes.subspan(tensor.begin - extent.begin, tensor.end - tensor.begin)) !=
        pack.hashes[number])
      return damaged_bytes_error("bytes of tensor " + in_quotes(tensor.name));
  }
  return {};
}

void copy_extent(const ReadPlan& plan, const PackReads& reads, const Extent& extent,
                 std::span<const std::byte> bytes, std::span<const std::span<std::byte>> destinations) {
  for (const std::uint32_t number : extent.copies) {
    const WantedCopy& one = reads.copies[number];
    copy_rows(one.copy, plan.loops, extent.begin, bytes, destinations[one.wanted]);
  }
}

}  // namespace ratoon::checkpoint
