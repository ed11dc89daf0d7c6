// SeatWait: how a process waits for a seat in a world: ever longer between two tries, and not in silence.
// There is no limit: a world may take as long as it takes. Pure: time comes in.
//
//   SeatWait wait(10s);
//   wait.begin(now);                               // with each call for a seat
//   if (wait.is_word_due(now)) say(...);
//   pause(wait.pause_after_failure());             // there was no answer
//   wait.note_answer();                            // there is none yet
//   wait.end();                                    // there it is
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::session {

class SeatWait {
 public:
  explicit SeatWait(Duration first_word) : first_word_(first_word) {}

  void begin(Timestamp now);
  // Once it has waited for long, and every minute from then on.
  [[nodiscard]] bool is_word_due(Timestamp now);
  [[nodiscard]] Duration waited(Timestamp now) const;
  // Each try looks anew through the run's places, which a thousand processes would do five times a second.
  [[nodiscard]] Duration pause_after_failure();
  void note_answer() { failures_ = 0; }
  void end() { began_.reset(); }

 private:
  Duration first_word_;
  std::optional<Timestamp> began_;  // nothing: it does not wait
  Timestamp next_word_;
  std::uint32_t failures_ = 0;  // in a row
};

}  // namespace ratoon::session
