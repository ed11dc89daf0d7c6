#include "cli/run/status_output.h"

#include <cstdio>

#include <unistd.h>

namespace ratoon::cli {

TerminalSize StatusOutput::size() const {
  return terminal_size(STDOUT_FILENO);
}

std::size_t StatusOutput::rows() const {
  const std::size_t rows = size().rows;
  return display_.is_watched && rows > 1 ? rows - 1 : 0;
}

void StatusOutput::put(const std::string& text) {
  if (text == shown_text_) return;
  if (display_.is_watched && !display_.is_json && size().columns != 0) std::fputs(kHomeAndClear, stdout);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  shown_text_ = text;
}

}  // namespace ratoon::cli
