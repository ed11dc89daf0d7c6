// ColumnMaker: brings rows that threads read in any order into one column. A row of the expected shape goes
// straight to its place; the others are kept aside, and if there are any, the column is put together when all
// are there.
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

using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

// Ordinary memory at a multiple of 64.
[[nodiscard]] std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes);

class ColumnMaker {
 public:
  // Begins a column of so many rows that come in so many pieces. The column's memory is used again if it is
  // enough.
  void begin(BatchColumn& column, const Column& declared, std::optional<RowShape> expected, std::size_t rows,
             std::size_t pieces, const Allocate& allocate);

  // From any thread; the rows of a piece from one. Throws std::logic_error if the field's bytes are not those
  // of its shape.
  void place(std::size_t row, std::size_t piece, const Field& field);

  // Once, after all rows were placed. Throws std::invalid_argument if rows are of different types.
  void finish(const Allocate& allocate);

  // What to expect of the next batch: what all rows of this one were.
  [[nodiscard]] const std::optional<RowShape>& expected() const { return expected_; }

 private:
  struct LooseRow {
    std::size_t row;
    ElementType type;
    std::size_t dimensions;  // how many, of those of the piece
    std::size_t bytes;       // likewise
  };
  struct Loose {
    std::vector<LooseRow> rows;
    std::vector<std::uint64_t> dimensions;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] std::vector<Field> all_rows() const;
  void lay_out(const std::vector<Field>& rows);
  void describe(const std::vector<Field>& rows);
  void make_room(std::size_t bytes, const Allocate& allocate);

  BatchColumn* column_ = nullptr;
  std::optional<RowShape> expected_;
  std::vector<Loose> loose_;  // of each piece
};

}  // namespace ratoon::data
