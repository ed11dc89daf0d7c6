// ProcessSupervisor: decides for `ratoon launch` what action follows the end of a process. A process that was
// killed, or that ended with 81, is restarted beside the others in the same pod: its staged checkpoints are
// still in memory. Any other failure ends all processes, and the launcher ends with the first exit code.
// After a process has left with 80, the end of another one by SIGTERM is no failure: it was told to leave,
// too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/contract/exit_code.h"
#include "base/core/clock.h"

namespace ratoon::cli {

struct ProcessEnd {
  int code = 0;             // 128 + n after signal n
  bool was_killed = false;  // by a signal
};

class ProcessSupervisor {
 public:
  // `restarts_max`: how many times in a row a process may end within a minute of its start.
  ProcessSupervisor(std::uint32_t processes, std::uint32_t restarts_max)
      : restarts_max_(restarts_max), slots_(processes) {}

  // The local ranks that are due to start now, and the time at which the next one is due.
  [[nodiscard]] std::vector<std::uint32_t> due(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_start() const;

  void note_start(std::uint32_t local_rank, Timestamp now);
  // Reports that the system lacks the resources to start the process: it is due again after a pause.
  void note_refused_start(std::uint32_t local_rank, Timestamp now);
  // Returns whether the process will be restarted.
  bool note_end(std::uint32_t local_rank, ProcessEnd end, Timestamp now);
  // Reports that all processes were asked to leave: none is restarted. `code` is the launch's exit code if a
  // process still had to be started, because its work is not done.
  void note_stop(ExitCode code);

  // If true, the processes that still run are asked to leave.
  [[nodiscard]] bool has_failed() const { return failure_.has_value(); }
  // If true, a process left because it was told to, and the other processes are expected to leave as well.
  [[nodiscard]] bool was_preempted() const { return was_preempted_; }
  [[nodiscard]] bool is_over() const;
  // The exit code at the end: the first failure; else 80 if a process was preempted; else the code of
  // note_stop(), if a process was still to be started; else 0.
  [[nodiscard]] int exit_code() const;

 private:
  enum class State { kToStart, kRunning, kEnded };
  struct Slot {
    State state = State::kToStart;
    Timestamp since{};  // when the state began; for kToStart, the earliest time to start
    std::uint32_t quick_ends = 0;
  };

  // Returns whether a start was pending.
  bool give_up_starts();

  std::uint32_t restarts_max_;
  std::vector<Slot> slots_;
  std::optional<int> failure_;
  bool is_stopping_ = false;
  bool was_preempted_ = false;
  std::optional<ExitCode> stopped_;  // set if a start was pending when the stop came
};

}  // namespace ratoon::cli
