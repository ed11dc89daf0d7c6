// agent/src/data/sets/: data sets that need no library besides the standard library.
//
// Every data set uses the functions below to check its columns and the sample ids that callers request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon::data {

// Throws std::invalid_argument if there is no column, a column has no name, or two columns have equal names.
void check_columns(std::span<const Column> columns);

// Returns the common columns of all data sets, whose columns must have the same names, types and order. If
// the data sets declare different shapes for a column, the common column has no shape. Throws
// std::invalid_argument if the columns differ, or if there is no data set.
[[nodiscard]] std::vector<Column> common_columns(std::span<const std::shared_ptr<const Dataset>> sets);

// Throws std::out_of_range if the sample number `id` is not below `size`.
inline void check_id(std::uint64_t id, std::uint64_t size) {
  if (id >= size) {
    throw std::out_of_range("there is no sample " + std::to_string(id) + " in a data set of " +
                            std::to_string(size));
  }
}

}  // namespace ratoon::data
