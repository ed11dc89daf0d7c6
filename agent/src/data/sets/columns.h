// data/sets/: agent/src/data/sets/: data sets that need no other library.
//
// The checks that every data set makes on its columns and on requested ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <ratoon/dataset.h>

namespace ratoon::data {

// Throws std::invalid_argument if there is no column, one has no name, or two have the same.
void check_columns(std::span<const Column> columns);

// The common columns of all data sets, which must have the same names, types and order. If a column's shapes
// differ, the common column has no shape. Throws std::invalid_argument if the columns differ, or if there is
// no data set.
[[nodiscard]] std::vector<Column> common_columns(std::span<const std::shared_ptr<const Dataset>> sets);

// Throws std::out_of_range unless `id` is below `size`.
inline void check_id(std::uint64_t id, std::uint64_t size) {
  if (id >= size) {
    throw std::out_of_range("there is no sample " + std::to_string(id) + " in a data set of " +
                            std::to_string(size));
  }
}

}  // namespace ratoon::data
