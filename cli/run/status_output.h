// StatusOutput: the output of `ratoon status`: once, or each time that it has changed. On a terminal the new
// text replaces the old text; on another output it is appended.
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

  // The size is read again each time, because a terminal's size changes.
  [[nodiscard]] TerminalSize size() const;
  // The number of lines that fit; 0: no limit.
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] bool is_summary() const { return display_.is_watched && size().columns == 0; }
  void put(const std::string& text);

 private:
  const StatusDisplay display_;
  std::string shown_;
};

}  // namespace ratoon::cli
