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

  // The beginning of a line; `time` as format_rfc3339 writes it.
  void begin(std::string_view time, LogLevel level, std::string_view message);

  // A text that does not fit is shortened; a field is left out if nothing of it fits.
  void add(std::span<const LogField> fields);

  // Fields that another LogLine of the same format rendered, and whether they were cut.
  void add_rendered(std::string_view fields, bool is_cut);

  // The fields alone, without begin() and end(), as add_rendered() takes them.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  // The whole line with its newline.
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

// Appends `text` to `out` as the inside of a JSON string. Control characters (also those of C1, which
// terminals obey) are escaped, and bytes that are not UTF-8 become U+FFFD. Stops before `out` exceeds
// max_size and returns whether the whole text fitted.
bool append_escaped(std::string& out, std::string_view text, std::size_t max_size);

}  // namespace ratoon
