// Page: what `ratoon status` writes: once, or each time that it has changed: over the last on a terminal,
// below it elsewhere.
#pragma once

#include <string>

#include "cli/run/terminal.h"

namespace ratoon::cli {

struct Display {
  bool is_json = false;
  bool is_watched = false;
};

class Page {
 public:
  explicit Page(const Display& display) : display_(display) {}

  // Asked anew each time: a terminal's size changes.
  [[nodiscard]] TerminalSize size() const;
  // Lines that fit; 0: as they come.
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] bool is_summary() const { return display_.is_watched && size().columns == 0; }
  void put(const std::string& text);

 private:
  const Display display_;
  std::string shown_;
};

}  // namespace ratoon::cli
