// UnwrittenLines: keeps lines for an output that accepts none for a while, such as a full pipe or a terminal
// stopped by Ctrl-S. A blocking write would keep the launcher from watching its child processes.
#pragma once

#include <cstddef>
#include <string>

#include "base/core/unique_fd.h"

namespace ratoon::cli {

class UnwrittenLines {
 public:
  // The descriptor must stay open for as long as this object exists.
  explicit UnwrittenLines(int fd);

  // Keeps the line for the next write. If 64 KiB are kept already, drops and counts the line; a later line
  // then says how many lines are missing.
  void add(const std::string& line);
  // Returns whether few lines are kept. A caller that can hold back its lines waits for has_room().
  [[nodiscard]] bool has_room() const;
  // Returns whether a write would succeed now without blocking.
  [[nodiscard]] bool takes_output() const;
  // Writes as many bytes as the output accepts without blocking. Drops the lines if the reader has closed the
  // output.
  void write_what_fits();
  // Writes all lines. Gives up if the output accepts nothing for `pause_max_ms`; -1: never gives up.
  void write_all(int pause_max_ms);
  // Returns the lines that are kept and forgets them.
  [[nodiscard]] std::string take();
  // Adds a line with the number of dropped lines, if there are any.
  void note_dropped_lines();

 private:
  // Returns false if the output accepted nothing.
  bool write_part();

  const int given_fd_;
  // For a pipe: a second, non-blocking descriptor, because another program may fill the pipe between our
  // poll() and write().
  UniqueFd own_fd_;
  std::string kept_;
  std::size_t left_out_ = 0;  // lines that were dropped for want of room
};

}  // namespace ratoon::cli
