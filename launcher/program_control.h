// ProgramControl: decides what ratoon-launcher does next with its program: start it, tell it to leave, kill
// it, ask for a place in the next world, or end. The class has no clock, threads or processes: facts come in
// through its functions, and next() returns the action that is due.
//
//   control.note_orders(orders, now);
//   while (auto action = control.next(now)) perform(*action);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/process/process_supervisor.h"

namespace ratoon::launcher {

struct ProgramTimes {
  Duration grace{std::chrono::seconds(30)};  // from SIGTERM to SIGKILL when the program can still save
  // The same after a loss in the world: the program waits for a lost process, and the others wait for it.
  Duration leave{std::chrono::seconds(2)};
  // How long the launcher waits after a failure of its program for the news that another member was lost, of
  // which the failure may be a result. In worlds with rare heartbeats the time is five heartbeats.
  Duration settle_min{std::chrono::seconds(5)};
};

// Ask for a place in a world that is newer than `left`.
struct JoinWorld {
  Attempt left{0};
  bool has_been_in_world = false;
  bool is_new_start = false;  // the program died by itself

  friend bool operator==(const JoinWorld&, const JoinWorld&) = default;
};
struct StartProgram {
  Assignment assignment;

  friend bool operator==(const StartProgram&, const StartProgram&) = default;
};
// Send SIGTERM to the program, which is killed at `deadline`.
struct TellToLeave {
  Timestamp deadline;
  std::string reason;

  friend bool operator==(const TellToLeave&, const TellToLeave&) = default;
};
struct KillProgram {
  friend bool operator==(const KillProgram&, const KillProgram&) = default;
};
struct EndLauncher {
  int code = 0;
  std::string why;
  bool is_code_of_program = false;  // the program ended by itself, and was not told to leave

  friend bool operator==(const EndLauncher&, const EndLauncher&) = default;
};
using ProgramAction = std::variant<JoinWorld, StartProgram, TellToLeave, KillProgram, EndLauncher>;

class ProgramControl {
 public:
  ProgramControl(const ProgramTimes& times, std::uint32_t restarts_max)
      : times_(times), supervisor_(1, restarts_max) {}

  void note_assignment(const Assignment& assignment);
  void note_orders(const Orders& orders, Timestamp now);
  void note_refusal(const Refusal& refusal);
  // Records that this launcher may never join: `why` says what to correct.
  void note_no_coordinator(const std::string& why);
  // Records that the launcher was asked to end, by a signal or by the end of the run.
  void record_stop(const std::string& reason);
  void note_end_of_program(ProcessEnd ended, Timestamp now);
  // Records that the system had no resources to start the program: the next try follows after a second.
  void record_failed_start(Timestamp now);

  // Returns the action that is due, or nothing. The caller performs the action before it calls next() again.
  [[nodiscard]] std::optional<ProgramAction> next(Timestamp now);
  // Returns when next() has to be called again at the latest.
  [[nodiscard]] std::optional<Timestamp> wake_at() const;

  // Returns the attempt in which the program runs, ends or has just failed; 0: it waits for a world.
  [[nodiscard]] Attempt attempt() const { return attempt_; }
  [[nodiscard]] bool is_running() const { return state_ == State::kRunning || state_ == State::kLeaving; }

 private:
  enum class State { kToJoin, kJoining, kToStart, kRunning, kLeaving, kSettling, kEnding, kOver };
  // Why the program has to leave; a later reason counts as more important.
  enum class Leave { kWorld, kHandOver, kNodeEnd, kStop, kFenced };

  [[nodiscard]] std::optional<ProgramAction> next_of_waiting(Timestamp now);
  [[nodiscard]] std::optional<ProgramAction> next_of_running(Timestamp now);
  [[nodiscard]] std::optional<ProgramAction> next_of_leaving(Timestamp now);
  [[nodiscard]] std::optional<ProgramAction> next_of_settling(Timestamp now);
  [[nodiscard]] ProgramAction tell(Leave leave, Timestamp deadline, const std::string& reason);
  [[nodiscard]] ProgramAction end(int code, const std::string& why);
  [[nodiscard]] ProgramAction end_after_program();
  void rejoin(bool is_new_start);
  void note_end_of_leaving(ProcessEnd ended);
  void finish(int code);
  [[nodiscard]] bool has_world_ended() const { return newest_attempt_ > attempt_; }
  [[nodiscard]] bool is_world_over() const { return has_world_ended() || hand_over_ == attempt_; }
  // Returns when the program must get SIGTERM at the latest, if its node is known to end.
  [[nodiscard]] std::optional<Timestamp> latest_notice() const;
  [[nodiscard]] Timestamp end_of_grace(Timestamp now) const;
  // Returns when a program is killed that runs in a replaced member and was not told to leave: at once,
  // because a member that was silent for long must not overwrite newer files. If the node of the member is
  // known to end, its successor has replaced it when the world ended. Then the program has as much time as
  // the other programs of that world.
  [[nodiscard]] Timestamp end_of_fenced(Timestamp now) const;

  const ProgramTimes times_;
  ProcessSupervisor supervisor_;
  State state_ = State::kToJoin;
  Attempt attempt_{0};
  Attempt left_{0};
  bool has_been_in_world_ = false;
  bool is_new_start_ = false;
  Duration settle_{0};
  std::optional<Assignment> assignment_;
  std::optional<Timestamp> not_before_;  // of the next join, or the next start
  std::optional<Timestamp> settles_at_;
  std::optional<Timestamp> kill_at_;
  bool is_killed_ = false;
  bool has_ended_by_itself_ = false;
  Leave leave_ = Leave::kWorld;
  int exit_code_ = 0;  // of this launcher, while state_ is kSettling or kEnding

  Attempt newest_attempt_{0};
  Attempt hand_over_{0};  // the attempt that all processes hand over; 0: none
  std::optional<Timestamp> node_ends_at_;
  std::string reason_;
  std::optional<std::string> stop_;    // why the launcher has to end
  std::optional<std::string> fenced_;  // why this member may no longer take part
  std::optional<std::string> unheard_;
};

}  // namespace ratoon::launcher
