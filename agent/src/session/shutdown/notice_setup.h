// Sets up the signals that train() handles and the deadlines that are known at the start, from the options.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include <ratoon/options.h>

#include "agent/src/session/link/link.h"
#include "agent/src/session/shutdown/drain.h"
#include "agent/src/session/shutdown/signals.h"
#include "base/core/clock.h"

namespace ratoon::session {

[[nodiscard]] Result<void> check_notices(const NoticeOptions& options);

// NoticeWatch: passes the signals of the process to its Drain, which decides about the last saves. A notice
// also ends a wait for other ranks, if the process could no longer train in time.
class NoticeWatch {
 public:
  // Throws Failure with ExitCode::kConfiguration if the options are not valid.
  NoticeWatch(const Options& options, const Clock& clock, Timestamp process_began);

  [[nodiscard]] const std::shared_ptr<Drain>& drain() const { return drain_; }
  // Calls the function `wait`, which waits for other ranks. If a notice makes the wait useless, calls
  // link.give_up(), which ends the wait. Throws Failure if a notice already makes the wait useless.
  void run_interruptible_wait(Link& link, const std::function<void()>& wait);
  // Calls the function `tell`, and requests its stop about a second after this process was asked to end.
  [[nodiscard]] Result<void> run_final_report(
      const Link& link, const std::function<Result<void>(const std::stop_token&)>& tell) const;
  // Returns whether this process may still begin an attempt, because no notice forbids it. Call
  // can_still_begin_attempt() before long work that precedes join().
  [[nodiscard]] bool can_still_begin_attempt(const Link& link) const;
  void leave_if_no_attempt_can_begin(const Link& link) const;
  // Returns whether a process that has no Link yet may still begin an attempt.
  [[nodiscard]] bool can_still_begin_attempt() const;
  void leave_if_no_attempt_can_begin() const;

 private:
  void wait_for_signal(const std::stop_token& stop) const;
  // `link` is null if the process has no Link yet.
  [[nodiscard]] std::optional<Failure> forbids_joining(const Link* link) const;

  const Clock& clock_;
  std::shared_ptr<Signals> signals_;  // null: signals are not handled
  std::shared_ptr<Drain> drain_;
};

}  // namespace ratoon::session
