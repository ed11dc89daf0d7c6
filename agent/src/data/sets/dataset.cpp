#include <stdexcept>

#include <ratoon/dataset.h>

namespace ratoon {

std::size_t Dataset::column(std::string_view name) const {
  std::string names;
  for (std::size_t i = 0; const Column& column : columns()) {
    if (column.name == name) return i;
    names += (i++ == 0 ? "" : ", ") + column.name;
  }
  throw std::invalid_argument("the data set has no column '" + std::string(name) + "'; it has: " + names);
}

}  // namespace ratoon
