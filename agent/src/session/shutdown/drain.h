// session/shutdown/: how a process ends: signals and notices, the drain, exit codes, and the messages at the
// end.
//
// Drain makes the requests of a rank that will be ended: to save, and to leave. A Drain collects notices from
// signals, orders, known ends and calls of the program. After every step the Drain calls plan_drain() and
// returns bits of the control word, so that all ranks save and stop after the same step.
//
//   drain.begin_attempt();
//   drain.hear(link.wanted(), now);                      // after every step, and while a world is waited for
//   agree(drain.requests(link.wanted(), now));             // once a step
//   drain.note_step(took);  drain.note_save(now, stall);  drain.note_commit(took);
//   if (auto why = drain.must_exit(now, agrees)) leave(*why);   // no save fits, or no rank agrees
//
// Thread contract: the training thread; notify() and take_back_notice() from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <ratoon/failure.h>

#include "agent/src/preemption/drain_facts.h"
#include "agent/src/preemption/notices.h"
#include "agent/src/session/link/link.h"
#include "agent/src/session/shutdown/signals.h"
#include "base/contract/exit_code.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Counts the signals that were received so far.
struct SignalCounts {
  HeardSignal terminate{};  // SIGTERM
  HeardSignal interrupt{};  // Ctrl-C
  HeardSignal notice{};     // the one that announces the end of a batch job
  std::uint32_t saves = 0;  // SIGUSR1, if it is not the notice signal
};

class Drain {
 public:
  struct Setup {
    preemption::Notices known_ends{};
    Duration grace{std::chrono::seconds(30)};
    std::optional<Timestamp> job_end{};  // of a batch job; without it a notice signal has the grace
    bool job_end_ends_run = false;       // with all of its processes
    bool can_be_replaced = false;        // by a coordinator
    std::function<SignalCounts()> signal_counts{};  // empty: nothing listens to signals
    std::function<void()> retake_signals{};         // takes back those that the program has taken meanwhile
  };
  Drain();  // no end is known, and nothing listens
  explicit Drain(Setup setup);

  void notify(Timestamp now, Duration left, const std::string& why);
  void take_back_notice();
  // Takes the operator's order about the end of this process, or its withdrawal. Call hear() before each
  // function below except requests(), which takes the order itself. Without calls of hear(), an order would
  // stay valid forever, or never become valid.
  void hear(const OutsideRequests& wanted, Timestamp now);

  // Returns why this process must join no further world; nullopt if it may join another world.
  [[nodiscard]] std::optional<Failure> forbids_joining(Timestamp now);
  // If the program left its loop early because this process was asked to leave, returns the exit code.
  // Returns nullopt if the process was not asked to leave.
  [[nodiscard]] std::optional<ExitCode> explains_return(Timestamp now);
  void begin_attempt(std::uint64_t state_bytes) { speeds_.set_state_bytes(state_bytes); }
  // Call keep_hearing() when a step begins.
  void keep_hearing() const {
    if (setup_.retake_signals) setup_.retake_signals();
  }
  [[nodiscard]] std::uint32_t requests(const OutsideRequests& wanted, Timestamp now);
  // Call must_exit() after a step. `agrees` says whether the ranks of this attempt agree once a step; if they
  // do not, each rank leaves by itself.
  [[nodiscard]] std::optional<Failure> must_exit(Timestamp now, bool agrees);
  // If ranks do not agree once a step, Ctrl-C takes effect at the next save that is due by counts, which all
  // ranks make at the same step, or else at the end of the grace period.
  [[nodiscard]] bool leaves_with_next_save();
  // Returns a message about the consequences of a notice; each notice that was not known from the start is
  // reported once.
  [[nodiscard]] std::string take_news(Timestamp now);
  // Returns how long the agreed last save may take, so that this process still leaves in time.
  [[nodiscard]] Duration time_to_commit(Timestamp now);
  // If an end is near, returns time_to_commit(); if not, enough time for a save in progress, and at least a
  // minute.
  [[nodiscard]] Duration patience_with_commit();
  // Returns the error with which the process ends after the agreed last save, or without a save.
  [[nodiscard]] Failure exit_for_drain(std::uint32_t agreed, Step step, bool is_committed);

  void note_step(Duration took) { speeds_.note_step(took); }
  void note_save(Timestamp began, Duration stall);
  void note_commit(Duration took) { speeds_.note_commit(took); }
  [[nodiscard]] Duration longest_commit() const { return speeds_.longest_commit(); }  // recent; 0: none yet
  void note_staged(bool is_staged) { speeds_.set_staged(is_staged); }

 private:
  // All functions below are called with mutex_ held.
  void hear_signals();
  void hear_order(const OutsideRequests& wanted, Timestamp now);
  void give(std::string_view source, const preemption::Notice& notice, Timestamp heard);
  [[nodiscard]] preemption::DrainStep next(Timestamp now) const;
  // Returns whether a replacement may come before the nearest deadline.
  [[nodiscard]] bool can_be_replaced() const;
  [[nodiscard]] bool is_interrupted() const { return told_.interrupt.count > 0; }
  [[nodiscard]] std::string why() const;
  [[nodiscard]] Duration commit_patience() const;

  static constexpr Timestamp kNever{Duration::min()};

  const Setup setup_;
  std::mutex mutex_;
  preemption::Notices notices_;     // guarded by mutex_, as is what follows
  std::string told_why_;            // of the notice that was last announced
  Timestamp sudden_since_{kNever};  // the newest notice that asks for a save at once
  SignalCounts told_;
  preemption::SaveSpeeds speeds_;   // of the training thread, as is what follows
  Timestamp saved_{kNever};         // when the last save began
  std::uint32_t served_saves_ = 0;  // of those that a signal asked for
};

}  // namespace ratoon::session
