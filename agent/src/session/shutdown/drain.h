// session/shutdown/: how a process ends: signals, notices of the end, the last saves (the drain), exit codes
// and messages.
//
// Drain: decides, on a rank whose process will be ended, when to request a save and when to end. A Drain
// collects notices from signals, orders of the coordinator, time limits and calls of the program. After every
// step, the Drain calls plan_drain() and returns its requests as bits. The ranks exchange the bits, so that
// all ranks save and stop after the same step.
//
//   drain.begin_attempt();
//   drain.receive_order(link.outside_requests(), now);   // after every step, and while a world is waited for
//   agree(drain.requests(link.outside_requests(), now));        // once a step
//   drain.note_step(took);  drain.note_save(now, stall);  drain.note_commit(took);
//   if (auto why = drain.find_exit_failure(now, agrees)) leave(*why);  // no save fits, or no rank agrees
//
// Thread contract: only the training thread uses a Drain, but any thread may call notify() and
// take_back_notice().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <ratoon/failure.h>

#include "agent/src/preemption/drain_facts.h"
#include "agent/src/preemption/notices.h"
#include "agent/src/session/link/link.h"
#include "agent/src/session/shutdown/signals.h"
#include "base/contract/exit_code.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"

namespace ratoon::session {

// SignalCounts: how many signals of each kind the process has received.
struct SignalCounts {
  SignalCount terminate{};  // SIGTERM
  SignalCount interrupt{};  // Ctrl-C
  SignalCount notice{};     // the one that announces the end of a batch job
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
    std::function<void()> reinstall_signals{};      // takes back those that the program has taken meanwhile
  };
  Drain();  // no end is known, and nothing listens
  explicit Drain(Setup setup);

  void notify(Timestamp now, Duration left, const std::string& why);
  void take_back_notice();
  // Handles the operator's order to end this process, or the withdrawal of the order. Call receive_order()
  // before each function that uses the order, except requests(), which receives the order as an argument.
  // Without calls of receive_order(), the Drain would not notice a new or withdrawn order.
  void receive_order(const CoordinatorRequests& wanted, Timestamp now);

  // Returns why this process must not begin another attempt; nullopt if the process may begin one.
  [[nodiscard]] std::optional<Failure> forbids_joining(Timestamp now);
  // Returns the exit code if the program left its loop early because this process was asked to end. Returns
  // nullopt if the process was not asked to end.
  [[nodiscard]] std::optional<ExitCode> find_exit_code_of_return(Timestamp now);
  void begin_attempt(std::uint64_t state_bytes) { save_speeds_.set_state_bytes(state_bytes); }
  // Installs the signal handlers again if the program has replaced them. The engine calls
  // reinstall_signal_handlers() at the beginning of each step.
  void reinstall_signal_handlers() const {
    if (setup_.reinstall_signals) setup_.reinstall_signals();
  }
  [[nodiscard]] std::uint32_t requests(const CoordinatorRequests& wanted, Timestamp now);
  // Returns, after each step, the Failure with which the process must end now, or nullopt. `agrees` says
  // whether the ranks of this attempt exchange requests in every step and so can end together.
  [[nodiscard]] std::optional<Failure> find_exit_failure(Timestamp now, bool agrees);
  // After Ctrl-C: returns whether this process must end at the next save. If ranks do not exchange requests
  // in every step, they can end together only at a save that is due by a count of steps.
  [[nodiscard]] bool leaves_with_next_save();
  // Returns a message about a new notice and its consequences, otherwise an empty text. Notices that were
  // known from the start are not reported.
  [[nodiscard]] std::string take_notice_message(Timestamp now);
  // Returns how long the last save, on which the ranks have agreed, may take before this process must end.
  [[nodiscard]] Duration remaining_commit_time(Timestamp now);
  // Returns how long this process may still work before it must end; nullopt if it was given no time.
  [[nodiscard]] std::optional<Duration> remaining_time(Timestamp now);
  // Returns how long to wait for the commit of a save: remaining_commit_time() if the process will be ended,
  // else at least a minute.
  [[nodiscard]] Duration commit_timeout();
  // Returns the Failure with which the process ends. `agreed` says whether the process has made a last save,
  // and `is_committed` whether this save is committed.
  [[nodiscard]] Failure exit_for_drain(std::uint32_t agreed, Step step, bool is_committed);

  void note_step(Duration took) { save_speeds_.note_step(took); }
  void note_save(Timestamp began, Duration stall);
  void note_commit(Duration took) { save_speeds_.note_commit(took); }
  [[nodiscard]] Duration longest_commit() const {
    return save_speeds_.longest_commit();
  }  // recent; 0: none yet
  void note_staged(bool is_staged) { save_speeds_.set_has_staging(is_staged); }

 private:
  void take_signals() RATOON_REQUIRES(mutex_);
  void apply_order(const CoordinatorRequests& wanted, Timestamp now) RATOON_REQUIRES(mutex_);
  void add_notice(std::string_view source, const preemption::Notice& notice, Timestamp heard)
      RATOON_REQUIRES(mutex_);
  [[nodiscard]] preemption::DrainStep next_drain_step(Timestamp now) const RATOON_REQUIRES(mutex_);
  // Returns whether a replacement process may join before the earliest deadline.
  [[nodiscard]] bool can_be_replaced() const RATOON_REQUIRES(mutex_);
  [[nodiscard]] bool is_interrupted() const RATOON_REQUIRES(mutex_) {
    return counted_signals_.interrupt.count > 0;
  }
  [[nodiscard]] std::string notice_reason() const RATOON_REQUIRES(mutex_);
  [[nodiscard]] Duration compute_commit_timeout() const RATOON_REQUIRES(mutex_);

  static constexpr Timestamp kUnsetTime{Duration::min()};

  const Setup setup_;
  Mutex mutex_;
  preemption::Notices notices_ RATOON_GUARDED_BY(mutex_);
  std::string announced_reason_ RATOON_GUARDED_BY(mutex_);  // of the notice that was last announced
  // The time of the newest notice that asks for a save at once.
  Timestamp newest_sudden_notice_at_ RATOON_GUARDED_BY(mutex_){kUnsetTime};
  SignalCounts counted_signals_ RATOON_GUARDED_BY(mutex_);
  Timestamp last_save_began_ RATOON_GUARDED_BY(mutex_){kUnsetTime};  // when the last save began
  std::uint32_t served_save_signals_ RATOON_GUARDED_BY(mutex_) = 0;  // of those that a signal asked for
  preemption::SaveSpeeds save_speeds_;  // needs no lock, because only the training thread uses it
};

}  // namespace ratoon::session
