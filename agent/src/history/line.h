// Converts the lines of a history between values and JSON; see docs/reference/history.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::history {

// A HistoryPosition stands for the first `bytes` bytes of an attempt's file and all older history that this
// file's first line names. The manifest of each checkpoint records a HistoryPosition.
struct HistoryPosition {
  Attempt attempt{0};
  std::uint64_t bytes = 0;

  friend bool operator==(const HistoryPosition&, const HistoryPosition&) = default;
};

// FirstLine is the first line of an attempt's history file.
struct FirstLine {
  Attempt attempt{0};
  std::optional<HistoryPosition> after;  // nullopt: the history begins with this file

  friend bool operator==(const FirstLine&, const FirstLine&) = default;
};

// Any other line.
struct Row {
  std::string kind;  // "step", "validation", "save", "ledger": what the values describe
  std::uint64_t step = 0;
  WallTime at;  // kept with milliseconds
  std::map<std::string, double> values{};

  friend bool operator==(const Row&, const Row&) = default;
};

inline constexpr std::size_t kLineBytesMax = 1U << 20;

// Returns the JSON text of the line, with a newline at its end. Each decoded number has exactly the bits of
// the encoded number. NaN and infinities are written as strings, because JSON has no numbers for them.
[[nodiscard]] std::string encode(const FirstLine& beginning);
[[nodiscard]] std::string encode(const Row& row);
// Without the newline.
[[nodiscard]] Result<FirstLine> decode_first_line(std::string_view line);
[[nodiscard]] Result<Row> decode_row(std::string_view line);

}  // namespace ratoon::history
