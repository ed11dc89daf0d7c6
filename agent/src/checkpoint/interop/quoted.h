// Quotes a name from another program's file for a message, on one line and cut to a maximum length.
#pragma once

#include <string>
#include <string_view>

#include "base/core/utf8.h"

namespace ratoon::checkpoint {

[[nodiscard]] inline std::string quoted(std::string_view name) {
  constexpr std::size_t kQuotedBytesMax = 200;
  const bool is_long = name.size() > kQuotedBytesMax;
  return "'" + printable(cut_text(std::string(name), kQuotedBytesMax)) + (is_long ? "...'" : "'");
}

}  // namespace ratoon::checkpoint
