#include "agent/src/mds/format/columns.h"

#include <algorithm>

namespace ratoon::mds {
namespace {

Error column_error(const std::string& column, const std::string& why) {
  return Error(ErrorKind::kInvalid, "column '" + column + "': " + why);
}

}  // namespace

Result<Columns> Columns::make(std::vector<std::string> names, const std::vector<std::string>& encodings,
                              const std::vector<std::optional<std::uint32_t>>& sizes) {
  if (names.size() != encodings.size() || names.size() != sizes.size()) {
    return Error(ErrorKind::kInvalid, "there are " + std::to_string(names.size()) + " column names, " +
                                          std::to_string(encodings.size()) + " encodings and " +
                                          std::to_string(sizes.size()) + " sizes; expected equal numbers");
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return column_error(*twice, "two columns have this name");
  Columns columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto encoding = parse_encoding(encodings[i]);
    if (!encoding) return column_error(names[i], encoding.error().message());
    const std::uint32_t size_bytes = sizes[i].value_or(0);
    if (encoding->size_bytes != 0 && size_bytes != 0 && size_bytes != encoding->size_bytes) {
      return column_error(names[i], "'" + encodings[i] + "' takes " + std::to_string(encoding->size_bytes) +
                                        " bytes, but the index says " + std::to_string(size_bytes));
    }
    columns.dataset_columns_.push_back(
        {.name = std::move(names[i]), .type = encoding->type, .shape = encoding->shape});
    columns.encodings_.push_back(std::move(*encoding));
    columns.sizes_.push_back(size_bytes);
    if (size_bytes == 0) columns.size_prefix_bytes_ += 4;
  }
  return columns;
}

bool operator==(const Columns& a, const Columns& b) {
  return a.encodings_ == b.encodings_ && a.sizes_ == b.sizes_ &&
         std::equal(a.dataset_columns_.begin(), a.dataset_columns_.end(), b.dataset_columns_.begin(),
                    b.dataset_columns_.end(),
                    [](const Column& one, const Column& other) { return one.name == other.name; });
}

}  // namespace ratoon::mds
