// A name that a foreign file chose, as it appears in a message: bounded and on one line.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::checkpoint {

[[nodiscard]] inline std::string quoted(std::string_view name) {
  constexpr std::size_t kShownMax = 200;
  std::string shown = "'";
  for (const char c : name.substr(0, kShownMax)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + (name.size() > kShownMax ? "...'" : "'");
}

}  // namespace ratoon::checkpoint
