#include "agent/src/data/sets/columns.h"

#include <set>
#include <string_view>

#include "base/core/split_join.h"

namespace ratoon::data {
namespace {

std::string describe_columns(std::span<const Column> columns) {
  return join(columns, ", ",
              [](const Column& column) { return column.name + " " + std::string(name_of(column.type)); });
}

}  // namespace

void check_columns(std::span<const Column> columns) {
  if (columns.empty()) throw std::invalid_argument("a data set needs at least one column");
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    if (column.name.empty()) throw std::invalid_argument("a column of a data set has no name");
    if (!names.insert(column.name).second) {
      throw std::invalid_argument("two columns of a data set are named '" + column.name + "'");
    }
  }
}

std::vector<Column> common_columns(std::span<const std::shared_ptr<const Dataset>> sets) {
  if (sets.empty()) throw std::invalid_argument("no data set was given where at least one is needed");
  std::vector<Column> common(sets.front()->columns().begin(), sets.front()->columns().end());
  for (const auto& set : sets) {
    const auto columns = set->columns();
    bool do_agree = columns.size() == common.size();
    for (std::size_t i = 0; do_agree && i < common.size(); ++i) {
      do_agree = columns[i].name == common[i].name && columns[i].type == common[i].type;
      if (columns[i].shape != common[i].shape) common[i].shape.reset();
    }
    if (!do_agree) {
      throw std::invalid_argument("data sets that are read together need the same columns; one has " +
                                  describe_columns(common) + ", another has " + describe_columns(columns));
    }
  }
  return common;
}

}  // namespace ratoon::data
