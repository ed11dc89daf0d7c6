#include <stdexcept>

#include <ratoon/batch.h>

#include "agent/src/data/loader/batch_body.h"
#include "base/core/split_join.h"

namespace ratoon {

std::span<const std::uint64_t> BatchColumn::shape() const {
  if (is_stacked_) return shape_;
  throw std::logic_error("the rows of column '" + name_ +
                         "' differ in shape: each row has its own shape, see row()");
}

void BatchColumn::check_type(ElementType wanted) const {
  if (wanted == type_ || (size_of(type_) == 1 && wanted == ElementType::kBytes)) return;
  throw std::invalid_argument("column '" + name_ + "' has values of type " + std::string(name_of(type_)) +
                              ", but the program asked for " + std::string(name_of(wanted)) + "");
}

Field BatchColumn::row(std::size_t row) const {
  if (row >= rows_) {
    throw std::out_of_range("there is no row " + std::to_string(row) + " in a batch of " +
                            std::to_string(rows_));
  }
  if (is_stacked_) {
    const std::size_t row_bytes = bytes_ / rows_;
    return {.type = type_,
            .shape = std::span(shape_).subspan(1),
            .bytes = bytes().subspan(row * row_bytes, row_bytes)};
  }
  const std::uint64_t first_dimension = row == 0 ? 0 : dimension_ends_[row - 1];
  return {.type = type_,
          .shape = std::span(dimensions_).subspan(first_dimension, dimension_ends_[row] - first_dimension),
          .bytes = bytes().subspan(offsets_[row], offsets_[row + 1] - offsets_[row])};
}

std::uint64_t Batch::index() const {
  return body_->index;
}

std::uint64_t Batch::epoch() const {
  return body_->epoch;
}

std::uint64_t Batch::index_in_epoch() const {
  return body_->index_in_epoch;
}

SlotRange Batch::range() const {
  return body_->range;
}

SlotRange Batch::share() const {
  return body_->rank_range;
}

std::span<const Slot> Batch::slots() const {
  return body_->slots;
}

std::size_t Batch::size() const {
  return body_->slots.size();
}

double Batch::weight() const {
  return static_cast<double>(body_->rank_range.size()) / static_cast<double>(body_->range.size());
}

std::span<const BatchColumn> Batch::columns() const {
  return body_->columns;
}

const BatchColumn& Batch::column(std::string_view name) const {
  for (const BatchColumn& column : body_->columns)
    if (column.name() == name) return column;
  throw std::invalid_argument("the batch has no column '" + std::string(name) +
                              "'; it has: " + join(body_->columns, ", ", &BatchColumn::name));
}

}  // namespace ratoon
