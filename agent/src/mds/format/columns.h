// Columns describes the columns of all samples: their names, encodings and places in the bytes of a sample.
//
// The bytes of a sample begin with the sizes of the columns of variable size, as 32-bit numbers in the order
// of the columns. After these sizes, the bytes of all columns follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/dataset.h>
#include <ratoon/result.h>

#include "agent/src/mds/format/little_endian.h"
#include "agent/src/mds/format/values/encoding.h"

namespace ratoon::mds {

class Columns {
 public:
  // Makes columns from the three lists that an index has for them, which must be equally long. `sizes` has
  // the size of each column in bytes, or nothing for a column of variable size.
  [[nodiscard]] static Result<Columns> make(std::vector<std::string> names,
                                            const std::vector<std::string>& encodings,
                                            const std::vector<std::optional<std::uint32_t>>& sizes);

  [[nodiscard]] std::size_t size() const { return encodings_.size(); }
  [[nodiscard]] std::span<const Encoding> encodings() const { return encodings_; }
  // Returns the size of each column in bytes; 0 for a column of variable size.
  [[nodiscard]] std::span<const std::uint32_t> sizes() const { return sizes_; }
  // Returns the names, types and shapes of the columns for users of the data set.
  [[nodiscard]] std::span<const Column> dataset_columns() const { return dataset_columns_; }

  friend bool operator==(const Columns& a, const Columns& b);

  // Calls take(column, bytes) for each column in order until take() returns false. Returns true if take()
  // never returned false and the sizes add up to the length of the sample. `bytes` always lies in the sample.
  template <class Take>
  [[nodiscard]] bool for_each_value(std::span<const std::byte> sample, Take take) const;

 private:
  std::vector<Encoding> encodings_;
  std::vector<std::uint32_t> sizes_;
  std::vector<Column> dataset_columns_;
  std::uint64_t size_prefix_bytes_ = 0;  // of the sizes at the beginning of a sample
};

template <class Take>
bool Columns::for_each_value(std::span<const std::byte> sample, Take take) const {
  if (sample.size() < size_prefix_bytes_) return false;
  const std::byte* size_word = sample.data();
  std::span<const std::byte> rest = sample.subspan(size_prefix_bytes_);
  for (std::size_t column = 0; column < sizes_.size(); ++column) {
    std::size_t size_bytes = sizes_[column];
    if (size_bytes == 0) {
      size_bytes = read_little_endian(size_word);
      size_word += 4;
    }
    if (size_bytes > rest.size() || !take(column, rest.first(size_bytes))) return false;
    rest = rest.subspan(size_bytes);
  }
  return rest.empty();
}

}  // namespace ratoon::mds
