// What a progress bar looks like, as a function of where a run stands and how wide the terminal is.
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
  std::uint64_t begin_at = 0;  // where this process took the run up
  std::uint64_t position = 0;
  Duration elapsed{0};  // since then
  std::optional<double> loss{};
  std::optional<std::uint64_t> durable{};
};

// Of what was done since begin_at; nothing while that is nothing.
[[nodiscard]] std::optional<double> rate_per_second(const BarState& state);
// At that rate; nothing where rate or total are not known.
[[nodiscard]] std::optional<Duration> time_left(const BarState& state);

enum class Glyphs { kUtf8, kAscii };

// At most `columns` columns, in one line. With too few for all, what matters least is left out first.
[[nodiscard]] std::string render_bar(const BarState& state, std::size_t columns, Glyphs glyphs);
// For logs: a sentence without a newline.
[[nodiscard]] std::string render_line(const BarState& state);

// From one drawing to the next: a terminal's eye is quick, a log is read once. `last` is the pause before, 0
// after the first.
[[nodiscard]] Duration next_pause(bool is_terminal, Duration last);

}  // namespace ratoon::progress
