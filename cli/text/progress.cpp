#include "cli/text/progress.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kBarColumns = 30;
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr auto kLogLineInterval = std::chrono::seconds(5);

}  // namespace

std::string progress_line(const std::string& what, const ProgressState& state, std::size_t bar_columns) {
  const double share =
      state.total_bytes == 0
          ? 1
          : std::min(1.0, static_cast<double>(state.done_bytes) / static_cast<double>(state.total_bytes));
  std::string line = what + ": ";
  if (bar_columns != 0) {
    const auto full = static_cast<std::size_t>(share * static_cast<double>(bar_columns));
    line += "[" + std::string(full, '#') + std::string(bar_columns - full, '.') + "] ";
  }
  std::array<char, 16> percent{};
  // Rounds down, so that "100 %" appears only when the work is finished.
  std::snprintf(percent.data(), percent.size(), "%d %% of ", static_cast<int>(share * 100));
  line += percent.data() + size_text(state.total_bytes);
  if (state.seconds <= 0 || state.done_bytes == 0) return line;
  const double rate = static_cast<double>(state.done_bytes) / state.seconds;
  const auto left_bytes = static_cast<double>(state.total_bytes) * (1 - share);
  return line + ", " + size_text(static_cast<std::uint64_t>(rate)) + "/s, " +
         duration_text(left_bytes / rate) + " left";
}

Progress::Progress(std::string what, std::uint64_t total_bytes, const Clock& clock, bool is_shown)
    : label_(std::move(what)),
      clock_(clock),
      is_enabled_(is_shown),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      began_(clock.now()),
      state_{.total_bytes = total_bytes},
      last_shown_at_(began_) {}

Progress::~Progress() {
  clear();
}

void Progress::advance(std::uint64_t bytes) {
  state_.done_bytes += bytes;
  const Timestamp now = clock_.now();
  const Duration pause = is_terminal_ ? Duration(kRedrawInterval) : Duration(kLogLineInterval);
  if (is_enabled_ && now - last_shown_at_ >= pause) show(now);
}

void Progress::show(Timestamp now) {
  last_shown_at_ = now;
  state_.seconds = seconds(now - began_);
  const std::string line = progress_line(label_, state_, is_terminal_ ? kBarColumns : 0);
  // \x1b[K erases the rest of the previous line, which may have been longer.
  std::fprintf(stderr, is_terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  is_drawn_ = is_terminal_;
}

void Progress::clear() {
  if (is_drawn_) std::fprintf(stderr, "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace ratoon::cli
