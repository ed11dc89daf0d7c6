// checkpoint/parts/: Saves tensors in parts: chooses the parts that a save writes, writes the part files, and
// removes part files.
//
// A large tensor that changes only in some places, such as a replay buffer, is divided into parts of equal
// numbers of rows. A save compares the digest of each part with the parts of the last committed checkpoint,
// and writes only the parts that differ. The pack's record names all parts, including the parts that earlier
// saves wrote. Part files never change, so there is no chain of differences: a load reads each part from
// exactly one file.
//
//   const CommittedParts known(last_id, last_record.tensors_in_parts);
//   const SplitState split = split_into_parts(tensors, known);
//   write_pack_file(disk, path, rank, split.pack_tensors, mark);
//   record.tensors_in_parts = *write_parts(disk, id, split.parts, mark, owner);
//
// This header and its source file are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/format/tensor_in_parts.h"

namespace ratoon::checkpoint {

struct PartSizes {
  std::uint64_t tensor_bytes_min = 1 << 20;  // tensors with fewer bytes are in the pack
  std::uint64_t part_bytes_min = 256 << 10;
};

// Returns the number of rows of each part of a tensor with `rows` rows and `bytes` bytes. The size of a part
// is near a power of two, so that a tensor that grows by a few rows keeps the boundaries of its parts. The
// size of a part grows with the tensor, so that a tensor has at most about 512 parts. If 1 % of the tensor in
// one place has changed, the changed parts have less than 2 % of its bytes.
[[nodiscard]] std::uint64_t choose_rows_per_part(std::uint64_t rows, std::uint64_t bytes,
                                                 const PartSizes& sizes = {});

// The part files of a committed checkpoint, and the minimum sizes (PartSizes) for dividing tensors into
// parts. The next save writes no part that is in these part files.
class CommittedParts {
 public:
  CommittedParts() = default;
  CommittedParts(const CheckpointId& checkpoint, std::span<const TensorInParts> tensors,
                 const PartSizes& sizes = {});

  // Returns null if no part has this type, this shape and these bytes.
  [[nodiscard]] const PartRecord* find(ElementType type, const TensorShape& shape, Hash128 digest) const;
  [[nodiscard]] const CheckpointId& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const PartSizes& sizes() const { return sizes_; }

 private:
  struct Part {
    ElementType type;
    TensorShape shape;
    PartRecord record;
  };
  CheckpointId checkpoint_;
  PartSizes sizes_;
  std::unordered_multimap<Hash128, Part> parts_;
};

struct PartToWrite {
  TensorView rows;
  // Each entry is the index of a tensor and the number of its part that has the bytes of `rows`. Several
  // parts may have equal bytes.
  std::vector<std::pair<std::size_t, std::size_t>> places;
};

struct PartsOfSave {
  std::vector<TensorInParts> tensors{};  // the header digest of a part to write is empty until it is written
  std::vector<PartToWrite> to_write{};
  std::optional<CheckpointId> base{};  // the checkpoint that has the other parts

  [[nodiscard]] std::uint64_t bytes_to_write() const;
};

struct SplitState {
  std::vector<TensorView> pack_tensors;
  PartsOfSave parts;
};

// Computes a digest of every part, so split_into_parts() reads all bytes of the tensors saved in parts.
[[nodiscard]] SplitState split_into_parts(std::span<const TensorView> tensors, const CommittedParts& known);

}  // namespace ratoon::checkpoint
