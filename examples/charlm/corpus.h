// Text as numbers: each character of the text has a number. Samples are windows of the text, one beginning at
// each character.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

class Corpus {
 public:
  // Reads a file or, if `file` is empty, generates sentences that depend only on the seed. If the file cannot
  // be read or is too short, ends the program with 82 (the same start would fail again).
  Corpus(const std::string& file, std::uint64_t seed);

  [[nodiscard]] std::uint64_t windows() const;
  [[nodiscard]] std::int64_t letters() const { return static_cast<std::int64_t>(alphabet_.size()); }

  // I64 [index, kWindow + 1]: the model reads all but the last letter, and predicts all but the first.
  [[nodiscard]] at::Tensor rows(const at::Tensor& index) const;

  [[nodiscard]] std::string text_of(const at::Tensor& letters) const;

  static constexpr std::int64_t kWindow = 48;

 private:
  std::string alphabet_;
  at::Tensor letters_;  // I64 [characters]
};
