// StatusOutput: prints what `ratoon status` shows, once or after each change. On a terminal the new text
// replaces the old text; on a file or pipe it is appended.
#pragma once

#include <string>

#include "cli/run/terminal.h"

namespace ratoon::cli {

struct StatusDisplay {
  bool is_json = false;
  bool is_watched = false;
};

class StatusOutput {
 public:
  explicit StatusOutput(const StatusDisplay& display) : display_(display) {}

  // Returns the terminal's size, read anew by each call because it may change.
  [[nodiscard]] TerminalSize size() const;
  // Returns the number of lines that fit on the terminal, or 0 if the output has no limit of lines.
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] bool shows_only_summary() const { return display_.is_watched && size().columns == 0; }
  void put(const std::string& text);

 private:
  const StatusDisplay display_;
  std::string shown_text_;
};

}  // namespace ratoon::cli
