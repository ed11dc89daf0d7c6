// TensorInParts: a large tensor whose bytes are not in the pack of its rank, but in part files that several
// checkpoints share. A save writes only the part files whose bytes no earlier checkpoint has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

// A part file: a small pack with one tensor, which has some consecutive rows of the whole tensor. The name of
// the file is the digest of its header, so files with different bytes have different names.
struct PartRecord {
  CheckpointId saved_in{};         // the checkpoint whose save wrote the file
  std::uint64_t header_bytes = 0;  // of the file
  std::string header_digest{};     // XXH3-128 of the header, as in PackRecord
  Hash128 rows_digest{};           // XXH3-128 of the rows

  friend bool operator==(const PartRecord&, const PartRecord&) = default;
};

struct TensorInParts {
  std::string name{};
  ElementType type = ElementType::kUint8;
  TensorShape shape{};              // at least one dimension; a row is one index of the first dimension
  std::uint64_t rows_per_part = 0;  // the last part may have fewer rows
  std::vector<PartRecord> parts{};

  [[nodiscard]] std::uint64_t first_row(std::size_t part) const { return part * rows_per_part; }
  [[nodiscard]] std::uint64_t row_count(std::size_t part) const {
    const std::uint64_t left = shape.front() - first_row(part);
    return left < rows_per_part ? left : rows_per_part;
  }
  [[nodiscard]] TensorShape part_shape(std::size_t part) const {
    TensorShape rows = shape;
    rows.front() = row_count(part);
    return rows;
  }

  friend bool operator==(const TensorInParts&, const TensorInParts&) = default;
};

inline constexpr std::size_t kPartsMax = 4096;  // of all tensors of one rank

}  // namespace ratoon::checkpoint
