// Sets up, from options, the signals that train() handles and the deadlines that it knows.
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

// NoticeWatch passes a training's signals to its Drain. Notices also end a wait for a world.
class NoticeWatch {
 public:
  // If the options are not valid, throws Failure with ExitCode::kConfiguration.
  NoticeWatch(const Options& options, const Clock& clock, Timestamp process_began);

  [[nodiscard]] const std::shared_ptr<Drain>& drain() const { return drain_; }
  // Calls `wait`, and calls link.give_up() once waiting is of no use any longer. Throws Failure if waiting is
  // of no use from the start.
  void while_waiting(Link& link, const std::function<void()>& wait);
  // Calls `tell`, and requests its stop about a second after this process was asked to leave.
  [[nodiscard]] Result<void> while_telling(
      const Link& link, const std::function<Result<void>(const std::stop_token&)>& tell) const;
  // Returns whether starting still makes sense. Ask this before long work that precedes join().
  [[nodiscard]] bool is_starting_of_use(const Link& link) const;
  void leave_if_starting_is_of_no_use(const Link& link) const;
  // Returns whether starting still makes sense, for a process that has no link yet.
  [[nodiscard]] bool is_starting_of_use() const;
  void leave_if_starting_is_of_no_use() const;

 private:
  void wait_for_news(const std::stop_token& stop) const;
  // `link` is null if there is no link yet.
  [[nodiscard]] std::optional<Failure> forbids_joining(const Link* link) const;

  const Clock& clock_;
  std::shared_ptr<Signals> signals_;  // null: signals are not handled
  std::shared_ptr<Drain> drain_;
};

}  // namespace ratoon::session
