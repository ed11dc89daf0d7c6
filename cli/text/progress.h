// Progress: shows the progress of long work by a bar on a terminal, and by a line every few seconds in a file
// or pipe.
//
//   Progress progress("verify", total_bytes, clock);
//   progress.advance(piece.size());
//
// Progress writes to standard error, because standard output is for the command's result.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/clock.h"

namespace ratoon::cli {

struct ProgressState {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
  double seconds = 0;
};

// Returns "verify: 42 % of 1.5 GiB, 512.0 MiB/s, 0:02 left"; with a bar before the numbers if `bar_columns`
// is not 0.
[[nodiscard]] std::string progress_line(const std::string& what, const ProgressState& state,
                                        std::size_t bar_columns);

class Progress {
 public:
  // Shows nothing if `is_shown` is false.
  Progress(std::string what, std::uint64_t total_bytes, const Clock& clock, bool is_shown = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t bytes);
  // Removes the bar, so that a line of a result can be printed; the next advance() draws it again.
  void clear();

 private:
  void show(Timestamp now);

  const std::string label_;
  const Clock& clock_;
  const bool is_enabled_;
  const bool is_terminal_;
  const Timestamp began_;
  ProgressState state_;
  Timestamp last_shown_at_;
  bool is_drawn_ = false;
};

}  // namespace ratoon::cli
