// Drain: what this rank would like to happen because it will be ended: saves, and leaving. It hears of
// notices from signals, orders, known ends and calls of the program; asks plan_drain() after every step; and
// says bits of the control word, so that all ranks save and stop after the same step.
//
//   drain.begin_attempt();
//   drain.hear(link.wanted(), now);                      // after every step, and while a world is waited for
//   agree(drain.wishes(link.wanted(), now));             // once a step
//   drain.note_step(took);  drain.note_save(now, stall);  drain.note_commit(took);
//   if (auto why = drain.must_go(now, agrees)) leave(*why);   // without a save: none fits, or nobody agrees
//
// Thread contract: the training thread; notify() and take_back_notice() from any.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <ratoon/failure.h>

#include "agent/src/preemption/drain_facts.h"
#include "agent/src/preemption/notices.h"
#include "agent/src/session/link.h"
#include "agent/src/session/signals.h"
#include "base/contract/exit_code.h"
#include "base/core/clock.h"

namespace ratoon::session {

// What signals said so far.
struct ToldBySignals {
  HeardSignal terminate{};  // SIGTERM
  HeardSignal interrupt{};  // Ctrl-C
  HeardSignal notice{};     // the one that announces the end of a batch job
  std::uint32_t saves = 0;  // SIGUSR1, where it is no notice
};

class Drain {
 public:
  struct Setup {
    preemption::Notices known_ends{};
    Duration grace{std::chrono::seconds(30)};
    std::optional<Timestamp> job_end{};  // of a batch job; a notice signal without one has the grace
    bool can_be_replaced = false;        // by a coordinator
    std::function<ToldBySignals()> told_by_signals{};  // empty: nothing listens to signals
    std::function<void()> retake_signals{};            // that the program has taken meanwhile
  };
  Drain();  // nothing is known and nothing listens
  explicit Drain(Setup setup);

  void notify(Timestamp now, Duration left, const std::string& why);
  void take_back_notice();
  // The operator's word on our end, which may be withdrawn. Before each question below, but for wishes(),
  // which is told: an order that is not heard holds for ever, or never.
  void hear(const Wanted& wanted, Timestamp now);

  // Why no world is to be joined any more.
  [[nodiscard]] std::optional<Failure> forbids_joining(Timestamp now);
  // With which code a process ends whose program left its loop before the run's end: told to leave, it may
  // have heard of it as we did. Nothing where it was not.
  [[nodiscard]] std::optional<ExitCode> explains_return(Timestamp now);
  void begin_attempt(std::uint64_t state_bytes) { speeds_.set_state_bytes(state_bytes); }
  // When a step begins.
  void keep_hearing() const {
    if (setup_.retake_signals) setup_.retake_signals();
  }
  [[nodiscard]] std::uint32_t wishes(const Wanted& wanted, Timestamp now);
  // After a step. `agrees`: whether the ranks of this attempt agree on anything; else each leaves by itself.
  [[nodiscard]] std::optional<Failure> must_go(Timestamp now, bool agrees);
  // Where ranks agree on nothing, Ctrl-C waits for the next save that is due by counts, and so at the same
  // step on all of them; for as long as the grace.
  [[nodiscard]] bool leaves_with_next_save();
  // For people, once for each notice that was not known from the start: what will happen.
  [[nodiscard]] std::string take_news(Timestamp now);
  // How long the agreed last save may take to be durable: as long as leaving still ends before the deadline.
  [[nodiscard]] Duration time_to_commit(Timestamp now);
  // The same where nothing ends soon: a save that is under way ends first, and a minute at least.
  [[nodiscard]] Duration patience_with_commit();
  // After the agreed last save, or without one: as what the process ends.
  [[nodiscard]] Failure farewell(std::uint32_t agreed, Step step, bool is_committed);

  void note_step(Duration took) { speeds_.note_step(took); }
  void note_save(Timestamp began, Duration stall);
  void note_commit(Duration took) { speeds_.note_commit(took); }
  [[nodiscard]] Duration longest_commit() const { return speeds_.longest_commit(); }  // of late; 0: none yet
  void note_staged(bool is_staged) { speeds_.set_staged(is_staged); }

 private:
  // All with mutex_ held.
  void hear_signals();
  void hear_order(const Wanted& wanted, Timestamp now);
  void give(std::string_view source, const preemption::Notice& notice, Timestamp heard);
  [[nodiscard]] preemption::DrainStep next(Timestamp now) const;
  [[nodiscard]] bool is_interrupted() const { return told_.interrupt.count > 0; }
  [[nodiscard]] std::string why() const;
  [[nodiscard]] Duration commit_patience() const;

  static constexpr Timestamp kNever{Duration::min()};

  const Setup setup_;
  std::mutex mutex_;
  preemption::Notices notices_;     // guarded by mutex_, as is what follows
  std::string told_why_;            // of what people were told
  Timestamp sudden_since_{kNever};  // the newest news that asks for a save at once
  ToldBySignals told_;
  preemption::SaveSpeeds speeds_;   // of the training thread, as is what follows
  Timestamp saved_{kNever};         // when the last save began
  std::uint32_t served_saves_ = 0;  // of those that a signal asked for
};

}  // namespace ratoon::session
