// ColumnMaker: combines rows, which threads read in any order, into one column. A row of the expected shape
// is copied directly to its place in the column. Rows with an unexpected shape are kept separately. A column
// that has rows with an unexpected shape is assembled after all rows were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ratoon/batch.h>

#include "agent/src/data/loader/row_shape.h"

namespace ratoon::data {

using AllocateFunction = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

// Allocates ordinary memory, aligned to 64 bytes.
[[nodiscard]] std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes);

class ColumnMaker {
 public:
  // Begins a column of `rows` rows. The rows are divided into `pieces` pieces: see place_row(). The column's
  // memory is reused if it is large enough.
  void begin(BatchColumn& column, const Column& declared, std::optional<RowShape> expected, std::size_t rows,
             std::size_t pieces, const AllocateFunction& allocate);

  // Any thread may call place_row(), but the rows of one piece must come from one thread. Throws
  // std::logic_error if the size of the field's bytes does not match its shape.
  void place_row(std::size_t row, std::size_t piece, const Field& field);

  // Call finish() after all rows were placed. Throws std::invalid_argument if rows have different types.
  void finish(const AllocateFunction& allocate);

  // Returns the shape that all rows of this batch have, or nothing if their shapes differ. The rows of the
  // next batch are expected to have the shape of this batch's rows.
  [[nodiscard]] const std::optional<RowShape>& expected_shape() const { return expected_shape_; }

 private:
  struct UnexpectedRow {
    std::size_t row;
    ElementType type;
    std::size_t dimensions;  // their number in the piece's list
    std::size_t bytes;       // their number in the piece's list
  };
  struct UnexpectedRows {
    std::vector<UnexpectedRow> rows;
    std::vector<std::uint64_t> dimensions;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] std::vector<Field> all_rows() const;
  void copy_rows(const std::vector<Field>& rows);
  void set_type_and_shape(const std::vector<Field>& rows);
  void reserve_bytes(std::size_t bytes, const AllocateFunction& allocate);

  BatchColumn* column_ = nullptr;
  std::optional<RowShape> expected_shape_;
  std::vector<UnexpectedRows> unexpected_rows_;  // one per piece
};

}  // namespace ratoon::data
