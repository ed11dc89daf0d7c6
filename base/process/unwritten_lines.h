// UnwrittenLines: keeps lines while an output accepts none, such as a full pipe or a terminal stopped by
// Ctrl-S. A blocking write would keep the launcher from watching its child processes.
#pragma once

#include <cstddef>
#include <string>

#include "base/core/unique_fd.h"

namespace ratoon {

class UnwrittenLines {
 public:
  // The descriptor must stay open for as long as this object exists.
  explicit UnwrittenLines(int fd);

  // Keeps the line for the next write. If 64 KiB are kept already, drops and counts the line; a later line
  // then says how many lines are missing.
  void add(const std::string& line);
  // Returns whether more lines have room. A caller that can hold back its lines waits for has_room().
  [[nodiscard]] bool has_room() const;
  // Returns whether a write would succeed now without blocking.
  [[nodiscard]] bool is_writable() const;
  // Writes as many bytes as the output accepts without blocking. Drops the lines if the reader has closed the
  // output.
  void write_without_blocking();
  // Writes all lines. Gives up if the output accepts no byte for `pause_max_ms`; with -1 it never gives up.
  void write_all(int pause_max_ms);
  // Returns the lines that are kept and forgets them.
  [[nodiscard]] std::string take();
  // Adds a line with the number of dropped lines, if there are any.
  void add_dropped_lines_notice();

 private:
  // Returns false if the output accepts no bytes now.
  bool write_part();

  const int output_fd_;
  // For a pipe: a second, non-blocking descriptor, because another program may fill the pipe between our
  // poll() and write().
  UniqueFd nonblocking_fd_;
  std::string pending_text_;
  std::size_t dropped_lines_ = 0;  // lines that were dropped for want of room
};

}  // namespace ratoon
