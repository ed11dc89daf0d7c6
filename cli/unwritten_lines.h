// UnwrittenLines: lines for an output that may not be read for a while: a full pipe, a terminal that is held
// (Ctrl-S). A write to it would wait, and the program that prints has children to look after.
#pragma once

#include <cstddef>
#include <string>

#include "base/core/unique_fd.h"

namespace ratoon::cli {

class UnwrittenLines {
 public:
  // The descriptor outlives it.
  explicit UnwrittenLines(int fd);

  // Keeps the line for the next write. Where 64 KiB are kept already, the line is only counted, and a line
  // that is added later says how many are missing.
  void add(const std::string& line);
  // Whether a write would not wait now.
  [[nodiscard]] bool takes_output() const;
  // Writes as much as the output takes now. An output that no program reads any longer loses the lines.
  void write_what_fits();
  // Writes all. Gives up once the output took nothing for `pause_max_ms`; -1: never.
  void write_all(int pause_max_ms);
  // Returns the lines that are kept and forgets them.
  [[nodiscard]] std::string take();
  // Adds how many lines are missing, where some are.
  void tell_left_out();

 private:
  // False: the output took nothing.
  bool write_part();

  const int given_fd_;
  // Of a pipe: opened again and not blocking, since another program may fill it between a look and a write.
  UniqueFd own_fd_;
  std::string kept_;
  std::size_t left_out_ = 0;  // lines, since there was no room to keep them
};

}  // namespace ratoon::cli
