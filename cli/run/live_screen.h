// LiveScreen: a run on a terminal: lines of what happened scroll by, and below them stands a picture of the
// run, drawn again over itself. Elsewhere there are the lines alone. Neither waits for its reader while the
// run lasts.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/core/clock.h"
#include "cli/unwritten_lines.h"

namespace ratoon::cli {

class LiveScreen {
 public:
  // The descriptor and the clock outlive it.
  LiveScreen(int fd, const Clock& clock);
  ~LiveScreen() { finish(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  void print(const std::string& line);
  // What status.json says now; drawn a few times a second at most.
  void show(const nlohmann::json& document);
  // The last picture, of a run that is over, stays where it stands. Waits until all is written.
  void finish();

 private:
  void draw(const nlohmann::json& document, bool is_running);
  [[nodiscard]] std::string erase_picture();
  void write(const std::string& text);
  void write_kept();
  void write_what_it_takes();

  const int fd_;
  const Clock& clock_;
  const bool is_terminal_;
  UnwrittenLines lines_;
  std::optional<Timestamp> drawn_at_;
  std::string picture_;  // its lines, as they stand on the terminal
  std::size_t picture_lines_ = 0;
  std::size_t picture_columns_ = 0;  // of the terminal for which it was drawn
  std::string newest_;               // document, drawn or not; empty: there was none
};

}  // namespace ratoon::cli
