// Scans JSON of a known form from left to right, ten times as fast as a general parser. Speed matters,
// because a rank must parse the headers of up to 100,000 tensors before it can read its first tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratoon::checkpoint {

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t position() const { return position_; }

  // Returns the next character other than white space, without consuming it. Returns '\0' at the end of the
  // JSON text, which may itself contain '\0'.
  [[nodiscard]] char peek();
  [[nodiscard]] bool is_at_end() { return peek() == '\0' && position_ == text_.size(); }

  // If the next character is `c`, consumes it and returns true.
  [[nodiscard]] bool take(char c);

  // take_text() and take_whole_number() return nothing if the next JSON value has another type. take_text()
  // decodes JSON escapes and returns UTF-8.
  [[nodiscard]] std::optional<std::string> take_text();
  [[nodiscard]] std::optional<std::uint64_t>
  take_whole_number();  // none also for fractions and above 2^64 - 1

 private:
  bool take_escape(std::string& out);
  std::optional<std::uint32_t> take_code_unit();

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace ratoon::checkpoint
