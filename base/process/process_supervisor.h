// ProcessSupervisor: decides for `ratoon launch` and ratoon-launcher whether to restart a process that has
// ended. A process that was killed or ended with exit code 81 is started again in the same pod, where its
// staged checkpoints are still in memory. A failure with any other exit code ends all processes, and the
// launcher returns the exit code of the first failure. After a process has exited with code 80 (preempted),
// an end of another process by SIGTERM is not a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/contract/exit_code.h"
#include "base/core/clock.h"

namespace ratoon {

struct ProcessEnd {
  int code = 0;             // 128 + n after signal n
  bool was_killed = false;  // by a signal
};

class ProcessSupervisor {
 public:
  // `restarts_max`: how many times in a row a process may end within a minute of its start.
  ProcessSupervisor(std::uint32_t processes, std::uint32_t restarts_max)
      : restarts_max_(restarts_max), slots_(processes) {}

  // ranks_to_start() returns the local ranks to start now; next_start_time() returns when the next process
  // must be started.
  [[nodiscard]] std::vector<std::uint32_t> ranks_to_start(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_start_time() const;

  void record_start(std::uint32_t local_rank, Timestamp now);
  // Records that the system had no resources to start the process, so the next try follows after a pause.
  void record_failed_start(std::uint32_t local_rank, Timestamp now);
  // Records how a process ended; returns whether it will be restarted.
  bool record_end(std::uint32_t local_rank, ProcessEnd end, Timestamp now);
  // Records that all processes got SIGTERM, after which no process is restarted. If a process still waits for
  // its start, its work is not done, and `code` becomes the launch's exit code.
  void record_stop(ExitCode code);

  // Returns whether a process has failed; the launcher then sends SIGTERM to all running processes.
  [[nodiscard]] bool has_failed() const { return first_failure_code_.has_value(); }
  // Returns whether a process exited with code 80 (preempted); the launcher then expects the other processes
  // to exit too.
  [[nodiscard]] bool was_preempted() const { return was_preempted_; }
  [[nodiscard]] bool is_over() const;
  // Returns the launcher's exit code: that of the first failure. Without a failure: 80 if a process was
  // preempted, the code of record_stop() if a process still waited for its start, otherwise 0.
  [[nodiscard]] int exit_code() const;

 private:
  enum class State { kToStart, kRunning, kEnded };
  struct Slot {
    State state = State::kToStart;
    Timestamp since{};  // when the state began; for kToStart, the earliest time to start
    std::uint32_t quick_ends = 0;
  };

  // Cancels all pending starts; returns whether any start was pending.
  bool cancel_pending_starts();

  std::uint32_t restarts_max_;
  std::vector<Slot> slots_;
  std::optional<int> first_failure_code_;
  bool is_stopping_ = false;
  bool was_preempted_ = false;
  std::optional<ExitCode> stop_exit_code_;  // set if a start was pending when the stop came
};

}  // namespace ratoon
