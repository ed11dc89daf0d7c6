// UnwrittenLines: lines for an output that may not be read for a while, such as a full pipe or a terminal
// that is held (Ctrl-S). A blocking write would keep the launcher from watching its child processes.
#pragma once

#include <cstddef>
#include <string>

#include "base/core/unique_fd.h"

namespace ratoon::cli {

class UnwrittenLines {
 public:
  // The descriptor must stay open for as long as this object exists.
  explicit UnwrittenLines(int fd);

  // Keeps the line for the next write. If 64 KiB are kept already, the line is only counted, and a line that
  // is added later says how many are missing.
  void add(const std::string& line);
  // Whether few lines are kept: a caller that can wait with its lines adds some only then.
  [[nodiscard]] bool has_room() const;
  // Whether a write now would not block.
  [[nodiscard]] bool takes_output() const;
  // Writes as much as the output accepts now. If no program reads the output any longer, the lines are
  // dropped.
  void write_what_fits();
  // Writes all lines. Gives up after the output accepted nothing for `pause_max_ms`; -1: never.
  void write_all(int pause_max_ms);
  // Returns the lines that are kept and forgets them.
  [[nodiscard]] std::string take();
  // Adds the number of missing lines, if there are any.
  void note_dropped_lines();

 private:
  // Returns false if the output accepted nothing.
  bool write_part();

  const int given_fd_;
  // For a pipe: our own non-blocking descriptor. Another program may fill the pipe between poll() and
  // write().
  UniqueFd own_fd_;
  std::string kept_;
  std::size_t left_out_ = 0;  // lines that were dropped for want of room
};

}  // namespace ratoon::cli
