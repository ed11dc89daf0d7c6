// What every data set checks of its columns and of the numbers that it is asked for.
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

// The columns of all, which have to agree in names, types and order; a shape that they differ in varies.
// Throws std::invalid_argument if they do not agree, or if there is no data set.
[[nodiscard]] std::vector<Column> common_columns(std::span<const std::shared_ptr<const Dataset>> sets);

// Throws std::out_of_range unless `id` is below `size`.
inline void check_id(std::uint64_t id, std::uint64_t size) {
  if (id >= size) {
    throw std::out_of_range("there is no sample " + std::to_string(id) + " in a data set of " +
                            std::to_string(size));
  }
}

}  // namespace ratoon::data
