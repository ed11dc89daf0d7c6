// The columns of a data set's samples: what they are called, what they mean, where their bytes are.
//
// A sample is [u32 size of each column that varies, in the columns' order][bytes of each column].
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/dataset.h>
#include <ratoon/result.h>

#include "agent/src/mds/format/encoding.h"
#include "agent/src/mds/format/little_endian.h"

namespace ratoon::mds {

class Columns {
 public:
  // As an index says them, all three equally long. `sizes`: nothing, or 0, for a column that varies.
  [[nodiscard]] static Result<Columns> make(std::vector<std::string> names,
                                            const std::vector<std::string>& encodings,
                                            const std::vector<std::optional<std::uint32_t>>& sizes);

  [[nodiscard]] std::size_t size() const { return encodings_.size(); }
  [[nodiscard]] std::span<const Encoding> encodings() const { return encodings_; }
  // 0: it varies.
  [[nodiscard]] std::span<const std::uint32_t> sizes() const { return sizes_; }
  // For users of the data set.
  [[nodiscard]] std::span<const Column> described() const { return described_; }

  friend bool operator==(const Columns& a, const Columns& b);

  // Calls take(column, bytes) for each column in order, until it returns false. Whether that came to the end,
  // and the sizes in the sample made up exactly its length. No byte outside of the sample is handed out.
  template <class Take>
  [[nodiscard]] bool walk(std::span<const std::byte> sample, Take take) const;

 private:
  std::vector<Encoding> encodings_;
  std::vector<std::uint32_t> sizes_;
  std::vector<Column> described_;
  std::uint64_t head_bytes_ = 0;  // of the size words
};

template <class Take>
bool Columns::walk(std::span<const std::byte> sample, Take take) const {
  if (sample.size() < head_bytes_) return false;
  const std::byte* size_word = sample.data();
  std::span<const std::byte> rest = sample.subspan(head_bytes_);
  for (std::size_t column = 0; column < sizes_.size(); ++column) {
    std::size_t size_bytes = sizes_[column];
    if (size_bytes == 0) {
      size_bytes = read_number(size_word);
      size_word += 4;
    }
    if (size_bytes > rest.size() || !take(column, rest.first(size_bytes))) return false;
    rest = rest.subspan(size_bytes);
  }
  return rest.empty();
}

}  // namespace ratoon::mds
