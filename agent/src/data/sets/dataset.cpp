#include <stdexcept>

#include <ratoon/dataset.h>

#include "base/core/split_join.h"

namespace ratoon {

std::size_t Dataset::column(std::string_view name) const {
  for (std::size_t i = 0; const Column& column : columns()) {
    if (column.name == name) return i;
    ++i;
  }
  throw std::invalid_argument("the data set has no column '" + std::string(name) +
                              "'; it has: " + join(columns(), ", ", &Column::name));
}

}  // namespace ratoon
