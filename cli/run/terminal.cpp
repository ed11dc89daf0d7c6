#include "cli/run/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace ratoon::cli {

TerminalSize terminal_size(int fd) {
  constexpr TerminalSize kUsual{.columns = 80, .rows = 24};
  if (::isatty(fd) != 1) return {};
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return kUsual;
  return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace ratoon::cli
