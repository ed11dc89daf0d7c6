// Supervision: what `ratoon launch` does about processes that end. A process that was killed, or that asked
// for a fresh one, is started again beside the others, in the same pod: what it staged in memory is still
// there. Anything else that is not success ends them all, and whoever started the launcher sees the first
// code.
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

class Supervision {
 public:
  // `restarts_max`: so often in a row a process may end within a minute of its start.
  Supervision(std::uint32_t processes, std::uint32_t restarts_max)
      : restarts_max_(restarts_max), slots_(processes) {}

  // Local ranks that are to be started now, and when the next one is.
  [[nodiscard]] std::vector<std::uint32_t> due(Timestamp now) const;
  [[nodiscard]] std::optional<Timestamp> next_start() const;

  void note_start(std::uint32_t local_rank, Timestamp now);
  // The system is short of what a process takes: it is due again after a pause.
  void note_refused_start(std::uint32_t local_rank, Timestamp now);
  // Says whether the process will be started again.
  bool note_end(std::uint32_t local_rank, ProcessEnd end, Timestamp now);
  // All were told to leave: nobody is started again. `code` is that of the launch where a process still had
  // to be: it is not done.
  void note_stop(ExitCode code);

  // Those that still run are to leave, since one has failed.
  [[nodiscard]] bool has_failed() const { return failure_.has_value(); }
  [[nodiscard]] bool is_over() const;
  // Once over: the first failure; else 80 where one was preempted; else that of note_stop(), where a process
  // was to be started; else 0.
  [[nodiscard]] int exit_code() const;

 private:
  enum class State { kToStart, kRunning, kEnded };
  struct Slot {
    State state = State::kToStart;
    Timestamp since{};  // of the state; of kToStart: not before
    std::uint32_t quick_ends = 0;
  };

  // Whether there were any.
  bool give_up_starts();

  std::uint32_t restarts_max_;
  std::vector<Slot> slots_;
  std::optional<int> failure_;
  bool is_stopping_ = false;
  bool was_preempted_ = false;
  std::optional<ExitCode> stopped_;  // before a process that had to be started was
};

}  // namespace ratoon::cli
