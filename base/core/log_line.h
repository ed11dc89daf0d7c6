// LogLine writes one line of the log: escaped, bounded, and valid JSON even if it was cut.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/core/log.h"

namespace ratoon {

class LogLine {
 public:
  LogLine(LogFormat format, std::size_t max_bytes);

  // Writes the beginning of a line; `time` has the form of format_rfc3339().
  void begin(std::string_view time, LogLevel level, std::string_view message);

  // Adds fields. A text that does not fit into the line is cut; if nothing of a field fits, the field is
  // omitted.
  void add(std::span<const LogField> fields);

  // Adds fields that another LogLine of the same format rendered; `is_cut` tells whether these were cut.
  void add_rendered(std::string_view fields, bool is_cut);

  // Returns the fields alone, without the text of begin() and end(), as add_rendered() takes them.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  // Returns the whole line including its newline.
  [[nodiscard]] std::string end() &&;

 private:
  void add(const LogField& field);
  [[nodiscard]] bool add_key(std::string_view key);
  void add_value(const LogValue& value);
  void add_text(std::string_view value);
  void add_number(double value);
  void add_quoted(std::string_view value, std::size_t max_size);

  LogFormat format_;
  std::size_t max_size_;  // without the end of the line
  std::string text_;
  bool is_cut_ = false;
};

// Appends `text` to `out` as the content of a JSON string. Escapes control characters of ASCII and C1 (U+0080
// to U+009F), because terminals obey both, and replaces bytes that are not UTF-8 by U+FFFD. Stops before
// `out` exceeds max_size and returns whether the whole text fitted.
bool append_escaped(std::string& out, std::string_view text, std::size_t max_size);

}  // namespace ratoon
