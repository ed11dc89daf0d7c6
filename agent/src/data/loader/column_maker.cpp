#include "agent/src/data/loader/column_maker.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ratoon::data {
namespace {

constexpr std::size_t kAlignment = 64;

struct alignas(kAlignment) Line {
  std::byte bytes[kAlignment];
};

}  // namespace

std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes) {
  const auto lines = std::make_shared_for_overwrite<Line[]>((bytes + kAlignment - 1) / kAlignment);
  return {lines, lines.get()->bytes};
}

void ColumnMaker::begin(BatchColumn& column, const Column& declared, std::optional<RowShape> expected,
                        std::size_t rows, std::size_t pieces, const AllocateFunction& allocate) {
  column_ = &column;
  expected_shape_ = std::move(expected);
  unexpected_rows_.resize(pieces);
  for (UnexpectedRows& loose : unexpected_rows_) {
    loose.rows.clear();
    loose.dimensions.clear();
    loose.bytes.clear();
  }
  column.name_ = declared.name;
  column.type_ = expected_shape_ ? expected_shape_->type : declared.type;
  column.rows_ = rows;
  column.is_stacked_ = true;
  column.offsets_.clear();
  column.dimensions_.clear();
  column.dimension_ends_.clear();
  column.shape_.assign(1, rows);
  column.bytes_ = 0;
  if (!expected_shape_) return;
  column.shape_.insert(column.shape_.end(), expected_shape_->dimensions.begin(),
                       expected_shape_->dimensions.end());
  if (expected_shape_->bytes != 0 && rows > std::vector<std::byte>().max_size() / expected_shape_->bytes)
    throw std::length_error("column '" + declared.name + "' of a batch would have over 2^63 bytes");
  reserve_bytes(rows * expected_shape_->bytes, allocate);
  column.bytes_ = rows * expected_shape_->bytes;
}

void ColumnMaker::reserve_bytes(std::size_t bytes, const AllocateFunction& allocate) {
  if (column_->capacity_ >= bytes) return;
  column_->memory_ = nullptr;  // first, so that old and new memory are never held at once
  column_->capacity_ = 0;
  column_->memory_ = allocate(bytes);
  column_->capacity_ = bytes;
}

void ColumnMaker::place_row(std::size_t row, std::size_t piece, const Field& field) {
  if (expected_shape_ && expected_shape_->matches(field)) {
    if (!field.bytes.empty())
      std::memcpy(column_->memory_.get() + row * expected_shape_->bytes, field.bytes.data(),
                  field.bytes.size());
    return;
  }
  if (field.bytes.size() != bytes_of(field.type, field.shape)) {
    throw std::logic_error("field '" + column_->name_ + "' has " + std::to_string(field.bytes.size()) +
                           " bytes, and its shape says " + std::to_string(bytes_of(field.type, field.shape)));
  }
  UnexpectedRows& loose = unexpected_rows_[piece];
  loose.rows.push_back({row, field.type, field.shape.size(), field.bytes.size()});
  loose.dimensions.insert(loose.dimensions.end(), field.shape.begin(), field.shape.end());
  loose.bytes.insert(loose.bytes.end(), field.bytes.begin(), field.bytes.end());
}

void ColumnMaker::finish(const AllocateFunction& allocate) {
  const bool has_loose_rows = std::any_of(unexpected_rows_.begin(), unexpected_rows_.end(),
                                          [](const UnexpectedRows& l) { return !l.rows.empty(); });
  if (!has_loose_rows) return;
  const std::shared_ptr<std::byte> placed = column_->memory_;  // keeps the rows in it until they are moved
  const std::vector<Field> rows = all_rows();
  for (const Field& row : rows) {
    if (row.type != rows.front().type) {
      throw std::invalid_argument("column '" + column_->name_ + "' has values of type " +
                                  std::string(name_of(rows.front().type)) + " in one sample of a batch and " +
                                  std::string(name_of(row.type)) + " in another");
    }
  }
  if (expected_shape_) column_->capacity_ = 0;  // do not overwrite the rows in it
  std::size_t bytes = 0;
  for (const Field& row : rows) bytes += row.bytes.size();
  // If rows have different shapes, batches have different sizes. Reserve a quarter more memory than needed,
  // so that later batches fit, too.
  if (bytes > column_->capacity_) reserve_bytes(bytes + bytes / 4, allocate);
  set_type_and_shape(rows);
  copy_rows(rows);
}

// Returns all rows. The bytes of a row with the expected shape are already in the column. The bytes of a row
// with an unexpected shape are in separate memory.
std::vector<Field> ColumnMaker::all_rows() const {
  std::vector<Field> rows(column_->rows_);
  if (expected_shape_) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row] = {.type = expected_shape_->type,
                   .shape = expected_shape_->dimensions,
                   .bytes = {column_->memory_.get() + row * expected_shape_->bytes, expected_shape_->bytes}};
    }
  }
  for (const UnexpectedRows& loose : unexpected_rows_) {
    std::span<const std::uint64_t> dimensions = loose.dimensions;
    std::span<const std::byte> bytes = loose.bytes;
    for (const UnexpectedRow& row : loose.rows) {
      rows[row.row] = {
          .type = row.type, .shape = dimensions.first(row.dimensions), .bytes = bytes.first(row.bytes)};
      dimensions = dimensions.subspan(row.dimensions);
      bytes = bytes.subspan(row.bytes);
    }
  }
  return rows;
}

void ColumnMaker::set_type_and_shape(const std::vector<Field>& rows) {
  const auto first = rows.front().shape;
  column_->type_ = rows.front().type;
  column_->is_stacked_ = std::all_of(rows.begin(), rows.end(), [&](const Field& row) {
    return std::equal(row.shape.begin(), row.shape.end(), first.begin(), first.end());
  });
  column_->shape_.assign(1, rows.size());
  if (column_->is_stacked_) {
    column_->shape_.insert(column_->shape_.end(), first.begin(), first.end());
    expected_shape_ =
        row_shape(rows.front().type, first);  // last, because the rows' shapes may point into the old value
    return;
  }
  for (const Field& row : rows) {
    column_->dimensions_.insert(column_->dimensions_.end(), row.shape.begin(), row.shape.end());
    column_->dimension_ends_.push_back(column_->dimensions_.size());
  }
  expected_shape_.reset();
}

void ColumnMaker::copy_rows(const std::vector<Field>& rows) {
  std::size_t offset = 0;
  if (!column_->is_stacked_) column_->offsets_.push_back(0);
  for (const Field& row : rows) {
    if (!row.bytes.empty()) std::memcpy(column_->memory_.get() + offset, row.bytes.data(), row.bytes.size());
    offset += row.bytes.size();
    if (!column_->is_stacked_) column_->offsets_.push_back(offset);
  }
  column_->bytes_ = offset;
}

}  // namespace ratoon::data
