// LiveScreen: the output of `ratoon run`. On a terminal, event lines scroll by, and below them a picture of
// the run is redrawn in place. If the output is a file or a pipe, only the event lines are printed. While the
// run lasts, output never blocks, even if no program reads the pipe.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/core/clock.h"
#include "base/process/unwritten_lines.h"

namespace ratoon::cli {

class LiveScreen {
 public:
  // The descriptor and the clock must outlive this object.
  LiveScreen(int fd, const Clock& clock);
  ~LiveScreen() { finish(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  void print(const std::string& line);
  // Keeps a line until the next write. The line must have no bytes that could move the cursor.
  void add_line(const std::string& line) { unwritten_lines_.add(line); }
  // Returns false if so many lines are kept that add_line() would drop the next line.
  [[nodiscard]] bool has_room() const { return unwritten_lines_.has_room(); }
  // Writes as many of the kept lines as the output accepts without blocking.
  void write_without_blocking();
  // Waits until the output has accepted all lines.
  void write_all();
  // Shows the current status.json (`document`). Draws the picture at most a few times per second.
  void show(const nlohmann::json& document);
  // Draws the last picture of the ended run and leaves it on the screen. Waits until all output is written.
  void finish();

 private:
  void draw(const nlohmann::json& document, bool is_running);
  [[nodiscard]] std::string erase_picture();
  void write(const std::string& text);
  void write_kept_lines();

  const int fd_;
  const Clock& clock_;
  const bool is_terminal_;
  UnwrittenLines unwritten_lines_;
  std::optional<Timestamp> drawn_at_;
  std::string picture_;  // its lines as they are on the terminal
  std::size_t picture_lines_ = 0;
  std::size_t picture_columns_ = 0;  // width of the terminal for which it was drawn
  std::string newest_document_;      // newest document, drawn or not; empty: there was none
};

}  // namespace ratoon::cli
