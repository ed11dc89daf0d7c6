// Makes the text of a progress bar from the run's position and the width of the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"

namespace ratoon::progress {

struct BarState {
  std::string title{};
  std::string unit = "step";
  std::uint64_t total = 0;     // 0: not known
  std::uint64_t begin_at = 0;  // where this process resumed the run
  std::uint64_t position = 0;
  Duration elapsed{0};  // since begin_at
  std::optional<double> loss{};
  std::optional<std::uint64_t> durable{};
};

// Returns the number of steps per second since begin_at, or nullopt if no step was made since then.
[[nodiscard]] std::optional<double> rate_per_second(const BarState& state);
// Returns the time until the end of the run at the current rate, or nullopt if the rate or the end is not
// known.
[[nodiscard]] std::optional<Duration> time_left(const BarState& state);

enum class Glyphs { kUtf8, kAscii };

// Returns the progress bar as one line of at most `columns` columns. If the line is too long, render_bar()
// leaves out items, the least important items first.
[[nodiscard]] std::string render_bar(const BarState& state, std::size_t columns, Glyphs glyphs);
// Returns the progress as a sentence for a log, without a newline.
[[nodiscard]] std::string render_line(const BarState& state);

// Returns the pause until the bar is drawn again. On a terminal, pauses are short. In a log, each pause is
// twice as long as the one before. `last` is the previous pause, or 0 after the first drawing.
[[nodiscard]] Duration next_pause(bool is_terminal, Duration last);

}  // namespace ratoon::progress
