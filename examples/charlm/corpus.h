// Text as numbers: the characters that occur in it, each with a number of its own. Samples are windows, one
// beginning at each character.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

class Corpus {
 public:
  // Of a file, or where none is named, of sentences that are the same for the same seed on every machine.
  // Ends the program with 82, the same start would fail again, if the file cannot be read or is too short.
  Corpus(const std::string& file, std::uint64_t seed);

  [[nodiscard]] std::uint64_t windows() const;
  [[nodiscard]] std::int64_t letters() const { return static_cast<std::int64_t>(alphabet_.size()); }

  // I64 [index, kWindow + 1]: the model reads all but the last letter, and guesses all but the first.
  [[nodiscard]] at::Tensor rows(const at::Tensor& index) const;

  [[nodiscard]] std::string text_of(const at::Tensor& letters) const;

  static constexpr std::int64_t kWindow = 48;

 private:
  std::string alphabet_;
  at::Tensor letters_;  // I64 [characters]
};
