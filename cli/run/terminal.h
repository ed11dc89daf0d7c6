// What is written to a terminal beside text.
#pragma once

#include <cstddef>

namespace ratoon::cli {

struct TerminalSize {
  std::size_t columns = 0;  // 0: it is no terminal
  std::size_t rows = 0;
};
[[nodiscard]] TerminalSize terminal_size(int fd);

inline constexpr const char* kHomeAndClear = "\x1b[H\x1b[2J";
inline constexpr const char* kClearBelow = "\x1b[J";

}  // namespace ratoon::cli
