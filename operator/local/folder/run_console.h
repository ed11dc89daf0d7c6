// RunConsole: prints messages about a local run for its user, line by line, without repetitions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "operator/api/training_job.h"

namespace ratoon::local {

class RunConsole {
 public:
  using Print = std::function<void(const std::string& line)>;

  struct Logs {
    std::string pattern;             // of the members' log files
    bool repeats_last_lines = true;  // of a member that failed
  };
  RunConsole(Print print, Logs logs, const Clock& clock)
      : print_(std::move(print)), logs_(std::move(logs)), clock_(clock) {}

  void print_line(const std::string& line) const { print_(line); }
  // Prints a line if `next` has a newer checkpoint than `before`.
  void print_checkpoint(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next) const;
  // Prints a line if the job has waited long for its next world.
  void print_long_wait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next);
  // Prints the message of an event unless the last event had the same message, because a loss that ends the
  // job emits two events with the same message. Returns whether print_event() printed the message.
  bool print_event(const std::string& message);
  // Prints the last output of the first failed member, as soon as it failed. Without this output, the user
  // would see only after the tenth failed start of the job why the program cannot start.
  void print_first_failure(const api::TrainingJobStatus& status);
  // Prints the last lines of the member that ended the job, unless they were printed already, and the path of
  // all logs.
  void print_failure(const api::TrainingJobStatus& status);
  void print_stop(const api::TrainingJobStatus& status) const;

 private:
  void print_last_lines(const api::MemberFailure& failure);

  const Print print_;
  const Logs logs_;
  const Clock& clock_;
  Timestamp waiting_since_ = clock_.now();
  std::string last_event_;
  std::optional<api::MemberFailure> printed_failure_;  // the failure whose last lines were printed last
};

}  // namespace ratoon::local
