// What train() listens to and what it knows of its end, from options.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include <ratoon/options.h>

#include "agent/src/session/drain.h"
#include "agent/src/session/link.h"
#include "agent/src/session/signals.h"
#include "base/core/clock.h"

namespace ratoon::session {

[[nodiscard]] Result<void> check_notices(const NoticeOptions& options);

// The signals of a training, and the Drain that they feed. Whoever waits for a world is called off by them.
class NoticeWatch {
 public:
  // Throws Failure with ExitCode::kConfiguration.
  NoticeWatch(const Options& options, const Clock& clock, Timestamp process_began);

  [[nodiscard]] const std::shared_ptr<Drain>& drain() const { return drain_; }
  // Calls `wait`, and link.give_up() once waiting is of no use any more. Throws Failure where it was of none
  // before.
  void while_waiting(Link& link, const std::function<void()>& wait);
  // Calls `tell`, and has it stopped about a second after this process was told to leave.
  [[nodiscard]] Result<void> while_telling(
      const Link& link, const std::function<Result<void>(const std::stop_token&)>& tell) const;
  // For what takes long before a world is asked for.
  [[nodiscard]] bool is_starting_of_use(const Link& link) const;
  void leave_if_starting_is_of_no_use(const Link& link) const;
  // The same before there is a link.
  [[nodiscard]] bool is_starting_of_use() const;
  void leave_if_starting_is_of_no_use() const;

 private:
  void wait_for_news(const std::stop_token& stop) const;
  // Null: no link wants anything yet.
  [[nodiscard]] std::optional<Failure> forbids_joining(const Link* link) const;

  const Clock& clock_;
  std::shared_ptr<Signals> signals_;  // null: nobody listens
  std::shared_ptr<Drain> drain_;
};

}  // namespace ratoon::session
