// One checkpoint_trainer, started and killed by a test, and all its output.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/core/unique_fd.h"

namespace ratoon::test {

class TrainerProcess {
 public:
  explicit TrainerProcess(const std::vector<std::string>& words);  // after the program's name
  ~TrainerProcess();                                               // kills and reaps
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  // Whether the process has ended; waits for this time.
  [[nodiscard]] bool has_ended_in(int milliseconds);
  void kill();

  // The next whole line; waits for one, nothing once the process has ended and all is read.
  [[nodiscard]] std::string next_line();
  // The whole lines that have arrived.
  [[nodiscard]] std::vector<std::string> lines_by_now();

  // May be called after the process has ended.
  [[nodiscard]] bool was_killed() const;
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] const std::string& last_line() const { return last_line_; }  // of those that were taken

 private:
  [[nodiscard]] bool read_more(int milliseconds);
  [[nodiscard]] std::string take_line();

  pid_t pid_ = -1;
  UniqueFd handle_;
  UniqueFd output_;
  std::string text_;
  std::string last_line_;
  bool is_reaped_ = false;
  int status_ = 0;
};

}  // namespace ratoon::test
