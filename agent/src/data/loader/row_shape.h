// RowShape: the expected type and shape of a column's rows, so that a row can be placed before the other rows
// are read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon::data {

struct RowShape {
  ElementType type = ElementType::kBytes;
  std::vector<std::uint64_t> dimensions;
  std::size_t bytes = 0;

  [[nodiscard]] bool matches(const Field& field) const {
    return field.bytes.size() == bytes && field.type == type &&
           std::equal(field.shape.begin(), field.shape.end(), dimensions.begin(), dimensions.end());
  }
  friend bool operator==(const RowShape&, const RowShape&) = default;
};

[[nodiscard]] inline RowShape row_shape(ElementType type, std::span<const std::uint64_t> dimensions) {
  return {type, {dimensions.begin(), dimensions.end()}, bytes_of(type, dimensions)};
}

// Returns the type and shape that the data set declares for all rows of a column.
[[nodiscard]] inline std::optional<RowShape> declared_row_shape(const Column& column) {
  if (!column.shape) return std::nullopt;
  return row_shape(column.type, *column.shape);
}

}  // namespace ratoon::data
