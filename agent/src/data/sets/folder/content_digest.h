// ContentDigest computes the digest that identifies a data set's contents in checkpoints. The length of each
// text is hashed before the text, so different lists of texts never give the hash the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <ratoon/dataset.h>

#include "base/core/xxh3.h"

namespace ratoon::data {

class ContentDigest {
 public:
  // `kind` is the kind of the data set and the version of its digest, such as "records-1".
  explicit ContentDigest(std::string_view kind);

  void add(std::uint64_t number);
  void add(std::string_view text);
  void add(std::span<const std::byte> bytes);
  void add(Hash128 hash);
  // Adds the names, types and shapes of the columns to the digest.
  void add(std::span<const Column> columns);

  // Returns the digest as text, such as "records-1:" and 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::string kind_;
  Xxh3Stream hash_;
};

}  // namespace ratoon::data
