// WorldWait decides how a process waits for the other ranks of an attempt: how long it pauses between its
// requests, and when it logs the wait. The wait has no time limit, because the other ranks may start at any
// time. WorldWait has no clock: the time is an argument of its functions.
//
//   WorldWait wait(10s);
//   wait.begin(now);                               // with each call to join
//   if (wait.is_report_due(now)) say(...);
//   pause(wait.pause_after_failure());             // there was no answer
//   wait.note_answer();  // an answer without a world
//   wait.end();  // an answer with a world
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::session {

class WorldWait {
 public:
  explicit WorldWait(Duration first_word) : first_report_after_(first_word) {}

  void begin(Timestamp now);
  // Returns whether to log the wait: after the time `first_word`, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  [[nodiscard]] Duration waited(Timestamp now) const;
  // Returns the pause before the next request. Each pause is longer than the one before. Without growing
  // pauses, each of a thousand processes would list the run's folder and stores five times a second.
  [[nodiscard]] Duration pause_after_failure();
  void note_answer() { failures_ = 0; }
  void end() { began_.reset(); }

 private:
  Duration first_report_after_;
  std::optional<Timestamp> began_;  // nullopt: it does not wait
  Timestamp next_report_at_;
  std::uint32_t failures_ = 0;  // in a row
};

}  // namespace ratoon::session
