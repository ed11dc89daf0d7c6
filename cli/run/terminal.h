// Reads the size of a terminal, and defines control sequences for it.
#pragma once

#include <cstddef>

namespace ratoon::cli {

struct TerminalSize {
  std::size_t columns = 0;  // 0: not a terminal
  std::size_t rows = 0;
};
[[nodiscard]] TerminalSize terminal_size(int fd);

inline constexpr const char* kHomeAndClear = "\x1b[H\x1b[2J";
inline constexpr const char* kClearBelow = "\x1b[J";

}  // namespace ratoon::cli
